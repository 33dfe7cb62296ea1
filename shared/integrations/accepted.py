"""Stand-ins for methods of wandb's and TensorBoard's objects that operant's lack. Calls are
accepted; the first one gives a warning.
"""

from __future__ import annotations

import contextlib
import difflib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import nearest
from ..messages import log_warning
from .current_run import open_run

_said: set[str] = set()
_saying = threading.Lock()


def warn_once(key: str, text: str) -> None:
    """Print `text` on standard error and add it to the events of the open run, once per run;
    without a run, once per process.
    """
    run = open_run()
    if run is not None:
        run.warn_once(key, text)
        return
    with _saying:
        if key in _said:
            return
        _said.add(key)
    with contextlib.suppress(Exception):  # standard error may be closed
        log_warning(text)


def warn_accepted(name: str) -> None:
    warn_once(f"accepted {name}", f"{name} is not in operant: it is accepted and has no effect")


class Accepted:
    """The stand-in for `name`. It can be called, read, entered and iterated (empty). It is neither
    a number nor a path, so that no script computes with it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        warn_accepted(f"{self._name}()")
        return Accepted(f"{self._name}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Accepted(f"{self._name}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return Accepted(f"{self._name}[...]")

    def __setitem__(self, key: Any, value: Any) -> None:
        warn_accepted(f"{self._name}[...]")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __enter__(self) -> Accepted:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __str__(self) -> str:
        return f"<{self._name}: not in operant>"

    __repr__ = __str__


def stand_in(owner: str, name: str, known: Iterable[str]) -> Accepted:
    """The stand-in for `owner.name`. Raises AttributeError for a private name, and for one that
    looks like a misspelt one of `known`.
    """
    alike = [word for word in known if word[0] == name[0]]
    if name.startswith("_") or difflib.get_close_matches(name, alike, cutoff=0.8):
        raise AttributeError(f"{owner} has no attribute '{name}'{nearest(name, alike)}")
    return Accepted(f"{owner}.{name}")


def unknown_keywords(function: str, keywords: Any) -> None:
    """Warn of keywords that `function` does not know: one may be misspelt."""
    for keyword in keywords:
        warn_once(f"{function} {keyword}", f"{function}() knows no '{keyword}': it has no effect")
