"""Memory that goes back to the machine, for a program that stays open all day."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h
_THRESHOLD_BYTES = 256 * 1024


def keep_memory_flat() -> None:
    """Have glibc give big arrays back as soon as they are free.

    Of itself it raises the size that counts as big with every array it frees, up to 32 MiB, and
    keeps all below in heaps, one for each thread, that a day of looks leaves full of holes. Here
    all threads share one, and are told so before there are any. Other C libraries are left as they
    are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
        mallopt(_M_ARENA_MAX, 1)


def forget_lines(widget: Widget) -> None:
    """Let go of the lines of a widget that has left the screen for good.

    Textual (8.2) remembers the last thousand widgets for the colours behind them, and with each
    what it drew.
    """
    widget._styles_cache.clear()
