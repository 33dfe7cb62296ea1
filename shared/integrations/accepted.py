"""Stand-ins for names of wandb and TensorBoard that operant lacks: calls are accepted and reported
once.
"""

from __future__ import annotations

import contextlib
import difflib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import nearest
from ..runs.session import warn_on_stderr
from .current_run import open_run

_said: set[str] = set()
_saying = threading.Lock()


def say_once(key: str, text: str) -> None:
    """Say `text` on standard error and among the events of the open run, once a run; without a run,
    once a process.
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
        warn_on_stderr(text)


def say_accepted(name: str) -> None:
    say_once(f"accepted {name}", f"{name} is not in operant: it is accepted and has no effect")


class Accepted:
    """Stands for `name`. It can be called, read, entered, gone through (empty) and subclassed;
    what it decorates stays as it was. It is no number and no path, so that nobody computes with it.
    """

    def __init__(self, name: str, *_: Any) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        say_accepted(f"{self._name}()")
        if len(arguments) == 1 and not keywords and callable(arguments[0]):
            return arguments[0]
        return Accepted(f"{self._name}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Accepted(f"{self._name}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return Accepted(f"{self._name}[...]")

    def __setitem__(self, key: Any, value: Any) -> None:
        say_accepted(f"{self._name}[...]")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __enter__(self) -> Accepted:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __instancecheck__(self, _: Any) -> bool:
        return False

    def __or__(self, _: Any) -> Accepted:  # in annotations
        return self

    __ror__ = __or__

    def __format__(self, _: str) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"<{self._name}: not in operant>"

    __repr__ = __str__


def stand_in(owner: str, name: str, known: Iterable[str]) -> Accepted:
    """The stand-in for `owner.name`. Raises AttributeError for a private name, and for one that
    looks like a misspelt one of `known`.
    """
    alike = [each for each in known if each[0] == name[0]]
    if name.startswith("_") or difflib.get_close_matches(name, alike, cutoff=0.8):
        raise AttributeError(f"{owner} has no attribute '{name}'{nearest(name, alike)}")
    return Accepted(f"{owner}.{name}")


def unknown_keywords(function: str, keywords: Any) -> None:
    """Tell of keywords that `function` does not know; a typing error looks just so."""
    for keyword in keywords:
        say_once(f"{function} {keyword}", f"{function}() knows no '{keyword}': it has no effect")
