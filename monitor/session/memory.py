"""Memory that goes back to the machine, for a program that stays open all day."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h
_THRESHOLD_BYTES = 256 * 1024


def keep_memory_flat() -> None:
    """Make glibc return large arrays to the system as soon as they are freed.

    By default, glibc raises its size limit for such arrays with every array that is freed, up to 32
    MiB. It keeps smaller ones in a heap per thread, which becomes fragmented over a day. Here all
    threads share one heap and the limit is fixed, before threads start. Other C libraries are left
    as they are.
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
