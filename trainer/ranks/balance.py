"""Shares by how fast ranks turn out to be: at the start, and again where one falls behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .split import Share, shares_by

FIRST_WINDOW_S, LONGEST_WINDOW_S = 1.0, 10.0  # a throttled processor works in bursts
LEAST_ITERATIONS = 3
# By how much the slowest may hold up all others: while a window grows, and for good.
FIRST_LAG, LAG = 1.03, 1.1


class WorkClock:
    """How long a rank works on its share of an iteration, without what it waits for others."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._waited_s = self._began_at = self._worked_s = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What is inside is waiting."""
        began_at = self._clock()
        yield
        self._waited_s += self._clock() - began_at

    def begin(self) -> None:
        self._began_at = self._clock() - self._waited_s

    def end(self) -> None:
        self._worked_s += self._clock() - self._waited_s - self._began_at

    def take_us(self) -> int:
        """The microseconds worked since this was last asked."""
        taken, self._worked_s = self._worked_s, 0.0
        return round(1e6 * taken)


class Balance:
    """Decides from what all ranks know whether environments move, and so all decide the same.

    Over windows of some iterations it adds up how long each worked. Where all together would have
    been done sooner with the shares that their speeds ask for, by more than the slowest may lag,
    those are the new ones. The first windows are short, so that a run soon has shares that fit.
    """

    def __init__(self, shares: Sequence[Share], together: int = 1) -> None:
        """Groups of so many environments stay `together`."""
        self._shares, self._together = list(shares), together
        self._window_s = FIRST_WINDOW_S
        self._worked_us: list[int] = []
        self._begin(skipped=1)  # the first iteration compiles

    def after_iteration(self, worked_us: Sequence[int]) -> list[Share] | None:
        """The new shares, where these are to change, after an iteration in which ranks worked so
        long.
        """
        if not any(worked_us):
            return None  # nothing was done since
        if self._skipped:
            self._skipped -= 1
            return None
        self._worked_us = [sum(each) for each in zip(self._worked_us, worked_us, strict=True)]
        self._num_iterations += 1
        if self._num_iterations < LEAST_ITERATIONS or max(self._worked_us) < 1e6 * self._window_s:
            return None
        wanted = self._wanted()
        is_first = self._window_s < LONGEST_WINDOW_S
        self._window_s = min(2 * self._window_s, LONGEST_WINDOW_S)
        if wanted == self._shares or self._lag() < (FIRST_LAG if is_first else LAG):
            self._begin(skipped=0)
            return None
        self._shares = wanted
        self._begin(skipped=1)  # what moved is not in any cache yet
        return wanted

    def _begin(self, skipped: int) -> None:
        """A new window, after so many iterations that do not count."""
        self._skipped, self._num_iterations = skipped, 0
        self._worked_us = [0] * len(self._shares)

    def _speeds(self) -> list[float]:
        """Environments of each rank, each stepped and learned from, a microsecond of its work."""
        pairs = zip(self._shares, self._worked_us, strict=True)
        return [share.num_envs / max(us, 1) for share, us in pairs]

    def _wanted(self) -> list[Share]:
        num_envs = sum(share.num_envs for share in self._shares)
        return shares_by(self._speeds(), num_envs, self._together)

    def _lag(self) -> float:
        """How many times as long the slowest took as all would have with fitting shares."""
        fitting = sum(share.num_envs for share in self._shares) / sum(self._speeds())
        return max(self._worked_us) / fitting
