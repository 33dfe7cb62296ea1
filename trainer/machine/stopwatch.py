"""Seconds that a run spends in each of its phases."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

PHASES = ("collect", "learn", "evaluate", "checkpoint", "publish")
OTHER = "other"
ALL_REDUCE = "all_reduce"  # what several ranks wait for one another in collect and learn
# What a page calls them while they last.
_SAID = {
    "collect": "collecting",
    "learn": "learning",
    "evaluate": "evaluating",
    "checkpoint": "saving",
}
_TRAINING = ("collect", "learn")
PAUSES = ("evaluate", "checkpoint")  # phases in which no training is done
_REMEMBERED = 4  # the newest pauses of a kind, whose mean the next is expected to take


class Stopwatch:
    """Seconds by phase since the last `take`, and by a clock that stands still in pauses."""

    def __init__(
        self,
        now: Callable[[], float] = time.perf_counter,
        say: Callable[..., None] = lambda *_: None,
        phases: Sequence[str] = PHASES,
        pauses: Sequence[str] = PAUSES,
    ) -> None:
        """`say` is called with every phase that begins and its progress, as `MetricsWriter.phase`.

        Where ranks wait for one another, `sums_s` is asked how many seconds it was so far: they are
        a phase of their own.

        While `is_compiling`, what trains is said to be that: its first call takes most of a minute.
        """
        self._now, self._say, self._phases = now, say, phases
        self.sums_s: Callable[[], float] | None = None
        self.all_reduce_s = self._taken_all_reduce_s = 0.0
        self.is_compiling: Callable[[], bool] = lambda: False
        self._seconds = dict.fromkeys(phases, 0.0)
        self._taken_at = now()
        self._said = ""
        self._paused_s = 0.0
        self._paused_at: float | None = None
        self._pauses: dict[str, deque[float]] = {name: deque(maxlen=_REMEMBERED) for name in pauses}
        self.num_pauses = dict.fromkeys(pauses, 0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        start, said = self._now(), self._said
        is_training = name in _TRAINING
        sums_s = self.sums_s() if self.sums_s and is_training else 0.0
        self.said("compiling" if is_training and self.is_compiling() else _SAID.get(name, said))
        self._paused_at = start if name in self._pauses else None
        try:
            yield
        finally:
            seconds = self._now() - start
            waited_s = self.sums_s() - sums_s if self.sums_s and is_training else 0.0
            self.all_reduce_s += waited_s
            self._seconds[name] += seconds - waited_s
            if name in self._pauses:
                self._paused_at = None
                self._paused_s += seconds
                self._pauses[name].append(seconds)
                self.num_pauses[name] += 1
                self.said(said)

    def said(self, phase: str) -> None:
        """Say that the page's `phase` begins, unless it has."""
        if phase and phase != self._said:
            self._say(phase)
        self._said = phase

    def say_progress(self, done: int, total: int, unit: str, left_s: float | None = None) -> None:
        """Say how far the present phase is, and about how long it still takes."""
        if self._said:
            self._say(self._said, done, total, unit, left_s)

    @property
    def training_s(self) -> float:
        """The time, without all pauses so far."""
        now = self._now() if self._paused_at is None else self._paused_at
        return now - self._paused_s

    def pause_s(self, name: str) -> float:
        """The expected seconds of the next pause of that name: the mean of the newest ones."""
        known = self._pauses[name]
        return sum(known) / len(known) if known else 0.0

    def take(self) -> dict[str, float]:
        """The seconds so far as metrics, and begin anew. With `other`, in which no phase was, they
        add up to the time since the last `take`.
        """
        now = self._now()
        seconds = self._seconds
        if self.sums_s:
            seconds[ALL_REDUCE] = self.all_reduce_s - self._taken_all_reduce_s
            self._taken_all_reduce_s = self.all_reduce_s
        seconds[OTHER] = max(0.0, now - self._taken_at - sum(seconds.values()))
        taken = {f"time/{name}_s": value for name, value in seconds.items()}
        self._seconds, self._taken_at = dict.fromkeys(self._phases, 0.0), now
        return taken
