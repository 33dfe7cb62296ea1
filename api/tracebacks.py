"""Short tracebacks for wrong input: a notebook shows every frame with ten lines of code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from ..shared.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")


def short_traceback(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, whose UsageErrors leave out the frames of operant's that follow the last frame of
    the caller's: they say nothing about what is wrong with the input.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UsageError as error:
            raise error.with_traceback(_without_ours(error.__traceback__)) from error.__cause__

    return called


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without its first frame, `called`, and without operant's last frames."""
    first = traceback and traceback.tb_next
    last, frame = None, first
    while frame:
        if not frame.tb_frame.f_globals.get("__name__", "").startswith("operant."):
            last = frame
        frame = frame.tb_next
    if last:
        last.tb_next = None
    return first if last else None
