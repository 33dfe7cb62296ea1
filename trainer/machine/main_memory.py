"""How this process keeps main memory."""

from __future__ import annotations

import ctypes

# Of mallopt, which returns 0 for what it refuses. Source: glibc's malloc.h and mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

# Bytes; what is larger goes back to the system. Older versions take no more than the second.
LARGEST_KEPT = (2**27, 2**25)
MOST_KEPT = 2**30


def keep_freed_memory() -> None:
    """Use again what was freed, where the C library is glibc.

    It gives large pieces back to the system at once and has them mapped anew, page by page, when
    the next operation of PyTorch wants as much: with several threads that can take a large part of
    an update.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    # Without the first the second would only end what glibc does by itself: to learn how large
    # pieces are.
    if any(set_option(_MMAP_THRESHOLD, size) for size in LARGEST_KEPT):
        set_option(_TRIM_THRESHOLD, MOST_KEPT)
        set_option(_ARENA_MAX, 1)  # other threads' own cannot keep large ones
