"""Shares by the measured speed of the ranks: at the start, and again if one rank falls behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .split import Share, shares_by

FIRST_WINDOW_S, LONGEST_WINDOW_S = 1.0, 10.0  # a throttled processor works in bursts
LEAST_ITERATIONS = 3
# The allowed lag of the slowest rank: while windows grow, and after that.
FIRST_LAG, LAG = 1.03, 1.1


class WorkClock:
    """Measures how long a rank works on its share of an iteration, without waiting for others."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.waited_s = 0.0  # seconds in sums with other ranks so far, mostly waiting
        self._began_at = self._worked_s = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wraps a sum with other ranks."""
        began_at = self._clock()
        yield
        self.waited_s += self._clock() - began_at

    def begin(self) -> None:
        """Call at the beginning of an iteration."""
        self._began_at = self._clock() - self.waited_s

    def end(self) -> None:
        """Call at its end; other ranks may still work."""
        self._worked_s += self._clock() - self.waited_s - self._began_at

    def take_us(self) -> int:
        """The microseconds worked since the last call."""
        taken, self._worked_s = self._worked_s, 0.0
        return round(1e6 * taken)


class Balance:
    """Decides whether environments move between ranks. All ranks know the same numbers and so
    decide the same.

    It adds up the working time of each rank over a window of iterations. If shares in proportion to
    the measured speeds would have finished earlier, by more than the allowed lag, they become the
    new shares. The first windows are short, so that a run soon has suitable shares.
    """

    def __init__(self, shares: Sequence[Share], group_size: int = 1) -> None:
        """Environments move in groups of `group_size`."""
        self._shares, self._group_size = list(shares), group_size
        self._window_s = FIRST_WINDOW_S
        self._worked_us: list[int] = []
        self._begin(skipped=1)  # the first iteration compiles

    def after_iteration(self, worked_us: Sequence[int]) -> list[Share] | None:
        """The new shares if they change. `worked_us` are the working times of all ranks in the
        iteration.
        """
        if not any(worked_us):
            return None  # there was no iteration since
        if self._skipped:
            self._skipped -= 1
            return None
        pairs = zip(self._worked_us, worked_us, strict=True)
        self._worked_us = [before + us for before, us in pairs]
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
        self._begin(skipped=1)  # moved environments are not in any cache yet
        return wanted

    def _begin(self, skipped: int) -> None:
        """Begin a window, after some iterations that do not count."""
        self._skipped, self._num_iterations = skipped, 0
        self._worked_us = [0] * len(self._shares)

    def _speeds(self) -> list[float]:
        """Environments of each rank per microsecond of its work."""
        pairs = zip(self._shares, self._worked_us, strict=True)
        return [share.num_envs / max(us, 1) for share, us in pairs]

    def _wanted(self) -> list[Share]:
        num_envs = sum(share.num_envs for share in self._shares)
        return shares_by(self._speeds(), num_envs, self._group_size)

    def _lag(self) -> float:
        """The time of the slowest rank, relative to that of all with shares by speed."""
        balanced_us = sum(share.num_envs for share in self._shares) / sum(self._speeds())
        return max(self._worked_us) / balanced_us
