"""Methods that warn instead of raising: an error in logging must not end a training loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from ..text.plain_values import described_error

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


class Warns(Protocol):
    """A class with guarded methods."""

    def _warn_once(self, key: str, text: str) -> None: ...


def never_raises(otherwise: Any = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a method: where it would raise, it warns and returns `otherwise`.

    Its class has `_warn_once(key, text)`, which reports a text the first time for a key and does
    not raise. A wrong number of arguments gives a warning too. KeyboardInterrupt and SystemExit
    pass.
    """

    def guard(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def guarded(*arguments: P.args, **keywords: P.kwargs) -> R:
            try:
                return method(*arguments, **keywords)
            except Exception as error:
                owner = cast(Warns, arguments[0])
                name = method.__name__
                owner._warn_once(f"{name}()", f"{name}() failed: {described_error(error)}")
                return cast(R, otherwise)

        return guarded

    return guard


def never_raising(owner: type[C]) -> type[C]:
    """Decorate a class: its public methods never raise, see `never_raises`."""
    for name, method in list(vars(owner).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(owner, name, never_raises()(method))
    return owner
