"""Watchers of emulated GPUs that also see synchronisations, copies and freed memory."""

from __future__ import annotations

import contextlib
import ctypes
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch

from .emulation import Operation, Watcher, runtime, watched_by


class Observation(enum.IntEnum):
    """The observations of null_runtime.h and their arguments: addresses of events and memory."""

    RECORDED = 0  # an event, the number of this record, on a stream
    AWAITED = 1  # an event, by a stream
    EVENT_DESTROYED = 2
    EVENT_SYNCHRONIZED = 3
    STREAM_SYNCHRONIZED = 4
    DEVICE_SYNCHRONIZED = 5
    COPIED = 6  # to, from, bytes; answered with 1 where the observer copies
    FILLED = 7  # memory, value, bytes; answered with 1 where the observer fills it
    FREED = 8  # memory


class Entry(ctypes.Structure):
    _fields_ = (
        ("what", ctypes.c_int), ("event", ctypes.c_void_p), ("stream", ctypes.c_void_p),
        ("number", ctypes.c_size_t),
    )  # fmt: skip


class Observer(Watcher, Protocol):
    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int: ...

    def querying(self, event: int) -> bool:
        """Whether to answer the host's query that an event is not over yet."""

    def happened(self, event: int) -> None:
        """The host has learnt that an event is over."""


class Waits:
    """Notes what the host waits for, in order: events, streams, the device."""

    is_late = False

    def __init__(self) -> None:
        self.seen: list[str] = []

    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int:
        if what.name.endswith("_SYNCHRONIZED"):
            self.seen.append(what.name)
        return 0

    def launched(self, operation: Operation, work: object, stream: int) -> None:
        pass

    def allocated(self, memory: torch.Tensor) -> None:
        pass

    def recorded(self, memory: torch.Tensor, stream: int) -> None:
        pass

    def finish(self) -> None:
        pass

    def querying(self, event: int) -> bool:
        return False

    def happened(self, event: int) -> None:
        pass


class Several:
    """Observers that learn of everything one after the other. The last may do the work itself."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self.is_late = observers[-1].is_late

    def read_journal(self) -> None:
        """Learn of the events that were recorded and awaited meanwhile."""
        entry = Entry()
        while runtime.null_gpu_next_entry(ctypes.byref(entry)):
            what, stream = Observation(entry.what), entry.stream or 0
            for x in self._observers:
                x.observe(what, entry.event, entry.number, 0, stream)

    def launched(self, operation: Operation, work: Callable[[], None], stream: int) -> None:
        self.read_journal()
        for x in self._observers:
            x.launched(operation, work, stream)

    def allocated(self, memory: torch.Tensor) -> None:
        for x in self._observers:
            x.allocated(memory)

    def recorded(self, memory: torch.Tensor, stream: int) -> None:
        self.read_journal()
        for x in self._observers:
            x.recorded(memory, stream)

    def finish(self) -> None:
        self.read_journal()
        for x in self._observers:
            x.finish()

    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int:
        self.read_journal()
        return [x.observe(what, a, b, size, stream) for x in self._observers][-1]


@contextlib.contextmanager
def watching(*observers: Observer) -> Iterator[Several]:
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
    own_query = torch.cuda.Event.query

    def query(event: torch.cuda.Event) -> bool:
        both.read_journal()
        held_back = [x.querying(event.cuda_event) for x in observers]
        is_over = not any(held_back) and own_query(event)
        for x in observers if is_over else ():
            x.happened(event.cuda_event)
        return is_over

    torch.cuda.Event.query = query  # type: ignore[method-assign]
    runtime.null_gpu_observe(called, both.is_late)
    try:
        with watched_by(both):
            yield both
    finally:
        runtime.null_gpu_observe(None, False)
        torch.cuda.Event.query = own_query  # type: ignore[method-assign]
