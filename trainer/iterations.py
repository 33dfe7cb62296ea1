"""Iterations one after another: collect, then learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from .rollout import Rollout
from .stopwatch import Stopwatch
from .threads import Threads


class Iterations(ABC):
    """What the main loop asks of an experiment none of whose iterations begins before the last one
    is over. What is made from it sets `iteration`, `collector` and `threads`, and learns.
    """

    iteration: int
    collector: Any  # whatever has a `collect`
    threads: Threads

    @abstractmethod
    def learn(self, rollout: Rollout) -> dict[str, float]:
        """One iteration's update; returns its metrics."""

    @property
    def num_started(self) -> int:
        """Iterations begun."""
        return self.iteration

    def on_tick(self, tick: Callable[[], None]) -> None:
        """Call `tick` every so often while there is nothing to do but wait."""
        self.threads.tick = tick

    def iterate(self, stopwatch: Stopwatch, wait: bool) -> Iterator[dict[str, float]]:
        """One iteration; gives its metrics."""
        with stopwatch.phase("collect"):
            rollout = self.collector.collect()
        with stopwatch.phase("learn"):
            values = self.learn(rollout)
        return iter((values,))

    def take_notices(self) -> list[str]:
        """What people should be told of how it runs, once each."""
        return []

    def finish(self) -> Iterator[dict[str, float]]:
        """Metrics of iterations that are not over: none here."""
        return iter(())

    def close(self) -> None:
        self.threads.close()
