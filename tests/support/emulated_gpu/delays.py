"""Streams of an emulated GPU with queues of their own, whose work is done late.

    with delays(seed): ...

What the host gives to a stream waits there. A seeded schedule decides how long: seed 0 does nothing
before the host waits for it, and then no more than events and waits ask for. Others let streams run
ahead of each other by chance. Memory is NaN bytes from the time when the allocator gives it out, in
the order of the stream that asks; pinned memory is, from the time when a copy to it is launched.
Whoever reads too early, or uses memory that is no longer its own, therefore gets other numbers than
a run on the processor, or an index that is out of range.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from .emulation import Operation, block_of, memory_at, runtime, without_autograd
from .watching import Observation, Observer, watching

PINNED = 1


@dataclass
class Moment:
    """When an event is recorded, which the runtime has a number for."""

    event: int
    number: int
    stream: int
    is_over: bool = False

    def happen(self) -> None:
        self.is_over = True
        runtime.null_gpu_is_over(ctypes.c_void_p(self.event), ctypes.c_size_t(self.number))


@dataclass
class Item:
    """Work in a queue, which waits for a moment in another, or touches memory."""

    work: Callable[[], object]
    after: Moment | None = None
    touched: Sequence[torch.Tensor] = ()


class Delays:
    """A schedule. `failure` is what work that was done later has raised."""

    is_late = True

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._is_latest = seed == 0
        self._pace = self._random.choice((0.0, 0.02, 0.2, 1.0))
        self._queues: dict[int, deque[Item]] = {}
        self._eagerness: dict[int, float] = {}
        self._moments: dict[int, Moment] = {}  # by the address of an event
        self._lock = threading.RLock()
        self.failure: Exception | None = None

    def launched(self, operation: Operation, work: Callable[[], None], stream: int) -> None:
        touched = (*operation.reads, *operation.writes)
        if operation.name == "aten::copy_":
            self._poison(operation.writes[0])
        self._give(stream, Item(work, touched=touched))
        self._go_on()

    def allocated(self, memory: torch.Tensor) -> None:
        pass

    def querying(self, event: int) -> bool:
        if self._random.random() < 0.3:
            self._reach(self._moments.get(event))
        return False

    def happened(self, event: int) -> None:
        pass

    def recorded(self, memory: torch.Tensor, stream: int) -> None:
        pass

    def finish(self) -> None:
        for stream in self._shuffled():
            self._drain(stream)

    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int:
        try:
            return self._observe(what, a, b, size, stream)
        except Exception as error:
            self.failure = self.failure or error
            return 0

    def _observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int:
        moment = self._moments.get(a)
        match what:
            case Observation.RECORDED:
                moment = self._moments[a] = Moment(a, b, stream)
                self._give(stream, Item(moment.happen))
            case Observation.AWAITED:
                if moment and not moment.is_over and moment.stream != stream:
                    self._give(stream, Item(lambda: None, after=moment))
            case Observation.EVENT_SYNCHRONIZED:
                self._reach(moment)
            case Observation.STREAM_SYNCHRONIZED:
                self._drain(stream)
            case Observation.DEVICE_SYNCHRONIZED | Observation.FREED:
                self.finish()
            case Observation.EVENT_DESTROYED:
                self._moments.pop(a, None)
            case Observation.COPIED:
                return self._copied(a, b, size, stream)
            case Observation.FILLED:
                memory = memory_at(a, size)
                self._give(stream, Item(lambda: ctypes.memset(a, b, size), touched=(memory,)))
                return 1
        return 0

    def _copied(self, to: int, source: int, size: int, stream: int) -> int:
        target, taken = memory_at(to, size), memory_at(source, size)
        if not block_of(target):  # pageable memory: the host waits for such a copy
            self._drain(stream)
            return 0
        if not block_of(taken):  # and goes on as soon as the driver has the bytes
            taken = taken.clone()
        self._poison(target)
        self._give(stream, Item(lambda: target.copy_(taken), touched=(target, taken)))
        return 1

    def _poison(self, target: torch.Tensor) -> None:
        """Whoever reads pinned memory before a copy to it is done shall see that."""
        block = block_of(target)
        if not block or block[0] != PINNED or not target.is_contiguous():
            return
        start, size = target.data_ptr(), target.nbytes
        for queue in self._queues.values():
            for item in queue:
                for x in item.touched:
                    if x.data_ptr() < start + size and start < x.data_ptr() + x.nbytes:
                        return  # its old content is still wanted
        ctypes.memset(start, 0xFF, size)

    def _give(self, stream: int, item: Item) -> None:
        with self._lock:
            if stream not in self._queues:
                self._queues[stream] = deque()
                self._eagerness[stream] = self._random.choice((0.0, 0.1, 1.0))
            self._queues[stream].append(item)

    def _go_on(self) -> None:
        """Let some streams work, or none."""
        with self._lock:
            if not self._is_latest and self._random.random() < self._pace:
                for other in self._shuffled():
                    if self._random.random() < self._eagerness[other]:
                        self._run(other, self._random.choice((1, 3, 30, 1000)))

    def _shuffled(self) -> list[int]:
        streams = list(self._queues)
        if not self._is_latest:
            self._random.shuffle(streams)
        return streams

    def _run(self, stream: int, most: int) -> None:
        """Do up to `most` items of a stream's work that may run now."""
        queue = self._queues[stream]
        with self._lock, without_autograd():
            while most and queue and (queue[0].after is None or queue[0].after.is_over):
                most -= 1
                queue.popleft().work()

    def _reach(self, moment: Moment | None) -> None:
        """Do no more than it takes until a moment is over."""
        while moment and not moment.is_over:
            self._advance(moment.stream)

    def _drain(self, stream: int) -> None:
        while self._queues.get(stream):
            self._advance(stream)

    def _advance(self, stream: int) -> None:
        self._reach(self._queues[stream][0].after)
        self._run(stream, 1)


@contextlib.contextmanager
def delays(seed: int, *before: Observer) -> Iterator[Delays]:
    """Streams by the schedule of a seed, and others who observe what is launched."""
    schedule = Delays(seed)
    gc.collect()
    gc.disable()  # it would free memory of the device while the runtime is at work
    try:
        with watching(*before, schedule) as several:
            yield schedule
            several.finish()
    finally:
        gc.enable()
    if schedule.failure:
        raise schedule.failure
