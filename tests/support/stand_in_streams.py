"""A stand-in for a GPU's streams, whose work is done as late or as oddly as wanted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Order = Callable[[], Sequence[str]]


class Work:
    """Work that is given to a stream waits there. Where somebody waits for the streams, whichever
    comes first in `order` and may do something does one thing.
    """

    def __init__(self, order: Order) -> None:
        self.queues: dict[str, list[Any]] = {"side": [], "main": []}
        self.order, self.current = order, "main"

    def give(self, do: Callable[[], Any], may: Callable[[], bool] = lambda: True) -> None:
        self.queues[self.current].append((may, do))

    def step(self, name: str) -> bool:
        """Whether the stream did the next thing."""
        queue = self.queues[name]
        if not queue or not queue[0][0]():
            return False
        queue.pop(0)[1]()
        return True

    def until(self, has_happened: Callable[[], bool]) -> None:
        while not has_happened():
            assert any(self.step(name) for name in self.order()), "it waits for ever"

    def finish(self) -> None:
        self.until(lambda: not any(self.queues.values()))

    @contextlib.contextmanager
    def stream(self, name: str) -> Iterator[None]:
        before, self.current = self.current, name
        yield
        self.current = before


class WorkEvent:
    """Stands in for `torch.cuda.Event`."""

    def __init__(self, work: Work) -> None:
        self.work, self.given, self.done = work, 0, 0

    def record(self) -> None:
        self.given += 1
        number = self.given
        self.work.give(lambda: setattr(self, "done", number))

    def wait(self) -> None:
        target = self.given
        self.work.give(lambda: None, lambda: self.done >= target)
