"""What a watcher of emulated GPUs learns, beyond operations, from the null runtime."""

from __future__ import annotations

import contextlib
import ctypes
import enum
from collections.abc import Iterator
from typing import Protocol

from .emulation import Watcher, runtime, watched_by


class Observation(enum.IntEnum):
    """As in null_runtime.h, with what it is about: addresses of an event, of memory."""

    RECORDED = 0  # an event, on a stream
    AWAITED = 1  # an event, by a stream
    EVENT_SYNCHRONIZED = 2
    STREAM_SYNCHRONIZED = 3
    DEVICE_SYNCHRONIZED = 4
    EVENT_QUERIED = 5  # answered with 1 where it has not happened yet
    STREAM_QUERIED = 6
    COPIED = 7  # to, from, bytes; answered with 1 where the copy is done by whoever observes
    FILLED = 8  # memory, value, bytes; likewise
    FREED = 9  # memory
    EVENT_DESTROYED = 10


class Observer(Watcher, Protocol):
    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int: ...


@contextlib.contextmanager
def watching(observer: Observer) -> Iterator[None]:
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
        ctypes.c_void_p,
    )  # fmt: skip
    called = kind(
        lambda what, a, b, size, stream: observer.observe(
            Observation(what), a or 0, b or 0, size, stream or 0
        )
    )
    runtime.null_gpu_observe(called)
    try:
        with watched_by(observer):
            yield
    finally:
        runtime.null_gpu_observe(None)
