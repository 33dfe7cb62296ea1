"""How this process keeps main memory."""

from __future__ import annotations

import ctypes

# Of mallopt. Source: glibc's malloc.h and mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

LARGEST_KEPT = 2**27  # bytes; what is larger goes back to the system
MOST_KEPT = 2**30


def keep_freed_memory() -> None:
    """Use again what was freed, where the C library is glibc.

    It gives large pieces back to the system at once and has them mapped anew, page by page, when
    the next operation of PyTorch wants as much: with several threads that took up to half of an
    update.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    set_option(_ARENA_MAX, 1)  # other threads' own cannot keep large ones
    set_option(_MMAP_THRESHOLD, LARGEST_KEPT)
    set_option(_TRIM_THRESHOLD, MOST_KEPT)
