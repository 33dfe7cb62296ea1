"""Methods that warn instead of raising: an error in logging must not end a training loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from ..text.plain_values import described_error

P = ParamSpec("P")
R = TypeVar("R")


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
