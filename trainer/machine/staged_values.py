"""Metrics copied from a GPU while it goes on working, and read when they have arrived."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import torch

SLOTS = 4


class Event(Protocol):
    """The part of `torch.cuda.Event` that is used here."""

    def record(self) -> None:
        """Happen once all that was given to the GPU until now is done."""

    def query(self) -> bool:
        """Whether it has happened; never waits."""

    def synchronize(self) -> None:
        """Wait until it has happened."""

    def wait(self) -> None:
        """Have what is given to the GPU's present stream from here on wait for it."""

    def elapsed_time(self, end: Any, /) -> float:
        """Milliseconds from this event to `end`, both of which have happened."""


class HostEvent:
    """An event where the processor does the work: it has happened once it is recorded."""

    _at_s = 0.0

    def record(self) -> None:
        self._at_s = time.perf_counter()

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def elapsed_time(self, end: Any, /) -> float:
        milliseconds: float = 1000 * (end._at_s - self._at_s)
        return milliseconds


def event_maker(device: torch.device) -> Callable[[], Event]:
    """A function that makes events for work on `device`."""
    if device.type == "cuda":
        make: Any = torch.cuda.Event
        return lambda: cast(Event, make(enable_timing=True))
    return HostEvent


class Span(NamedTuple):
    """A phase of an iteration, between two events."""

    phase: str
    start: Event
    end: Event


class SpanTimer:
    """Times phases where the work is done: between events, not between calls of the host."""

    def __init__(self, make_event: Callable[[], Event]) -> None:
        self._make_event = make_event
        self._spans: list[Span] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        span = Span(name, self._make_event(), self._make_event())
        span.start.record()
        yield
        span.end.record()
        self._spans.append(span)

    def take(self) -> list[Span]:
        """The phases since the last call."""
        taken, self._spans = self._spans, []
        return taken


@dataclass
class _InFlight:
    iteration: int
    slot: int
    arrived: Event
    spans: Sequence[Span]


class StagedValues:
    """`values` [M] float64 lies where the work is done; whoever works writes it, in `names` order.

    After each iteration `stage` copies it to pinned memory in passing, and `take` gives what has
    arrived: in order, nothing twice, nothing before its copy is whole. Neither ever waits. With all
    slots in flight `stage` declines, and says so.
    """

    def __init__(
        self,
        names: Sequence[str],
        device: torch.device,
        slots: int = SLOTS,
        make_event: Callable[[], Event] | None = None,
    ) -> None:
        self.names = tuple(names)
        self.values = torch.full((len(names),), torch.nan, dtype=torch.float64, device=device)
        self._make_event = make_event or event_maker(device)
        pinned = device.type == "cuda"
        self._rows = torch.zeros(slots, len(names), dtype=torch.float64, pin_memory=pinned)
        self._free = deque(range(slots))
        self._in_flight: deque[_InFlight] = deque()

    @property
    def has_room(self) -> bool:
        """Whether a slot is free for the next `stage`."""
        return bool(self._free)

    def stage(self, iteration: int, spans: Sequence[Span] = ()) -> bool:
        """Send `values` as those of `iteration`; False when no slot is free to take them."""
        if not self._free:
            return False
        slot = self._free.popleft()
        self._rows[slot].copy_(self.values, non_blocking=True)
        arrived = self._make_event()
        arrived.record()
        self._in_flight.append(_InFlight(iteration, slot, arrived, spans))
        return True

    def take(self) -> list[tuple[int, dict[str, float]]]:
        """(iteration, values) of all that has arrived, oldest first."""
        taken = []
        while self._in_flight and self._in_flight[0].arrived.query():
            taken.append(self._read(self._in_flight.popleft()))
        return taken

    def drain(self) -> list[tuple[int, dict[str, float]]]:
        """All that is in flight, after waiting once for the last of it."""
        if self._in_flight:
            self._in_flight[-1].arrived.synchronize()
        taken = [self._read(entry) for entry in self._in_flight]
        self._in_flight.clear()
        return taken

    def _read(self, entry: _InFlight) -> tuple[int, dict[str, float]]:
        values = dict(zip(self.names, self._rows[entry.slot].tolist(), strict=True))
        self._free.append(entry.slot)
        for span in entry.spans:
            values[f"time/{span.phase}_s"] = span.start.elapsed_time(span.end) / 1000
        return entry.iteration, values
