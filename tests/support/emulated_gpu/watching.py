"""What a watcher of emulated GPUs learns, beyond operations, from the null runtime."""

from __future__ import annotations

import contextlib
import ctypes
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch

from .emulation import Operation, Watcher, runtime, watched_by


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


class Several:
    """Observers that learn of everything one after the other. The last may do the work itself."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self.is_late = observers[-1].is_late

    def launched(self, operation: Operation, work: Callable[[], None], stream: int) -> None:
        for x in self._observers:
            x.launched(operation, work, stream)

    def allocated(self, memory: torch.Tensor) -> None:
        for x in self._observers:
            x.allocated(memory)

    def recorded(self, memory: torch.Tensor, stream: int) -> None:
        for x in self._observers:
            x.recorded(memory, stream)

    def finish(self) -> None:
        for x in self._observers:
            x.finish()

    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int:
        return [x.observe(what, a, b, size, stream) for x in self._observers][-1]


@contextlib.contextmanager
def watching(*observers: Observer) -> Iterator[None]:
    both = Several(observers)
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
        ctypes.c_void_p,
    )  # fmt: skip
    called = kind(
        lambda what, a, b, size, stream: both.observe(
            Observation(what), a or 0, b or 0, size, stream or 0
        )
    )
    runtime.null_gpu_observe(called)
    try:
        with watched_by(both):
            yield
    finally:
        runtime.null_gpu_observe(None)
