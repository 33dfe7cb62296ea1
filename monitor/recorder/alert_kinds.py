"""Built-in alerts: each decides on one number after the other, once.

Each kind takes the points of its metric and gives what it finds. What has been found is not found
again before the number was well again, which asks for more than not being bad: hysteresis.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import fmean, median
from typing import NamedTuple, Protocol

from ..render.formatting import format_duration, format_si, format_value


class Point(NamedTuple):
    """A finite number and when it was published, in seconds since the run began and env steps;
    negative ones are none.
    """

    at_s: float
    value: float
    env_steps: float = -1.0


class Finding(NamedTuple):
    """The text of an alert, and the numbers that it was decided on."""

    text: str
    numbers: dict[str, float]


class Kind(Protocol):
    """One sort of alert about one metric."""

    name: str

    def take(self, point: Point) -> Finding | None: ...

    def had_been_found(self) -> None:
        """Continue an alert of a former recorder: it lasts until the number is well again."""


class SlowSuddenly:
    """Speed under half of what it usually was, for some points in a row.

    The usual speed is the median of up to five minutes. Well again: 70 % of it.
    """

    name = "slow"
    BAD, WELL, IN_A_ROW = 0.5, 0.7, 3
    USUAL_S, WARM_S, FEWEST = 300.0, 60.0, 20

    def __init__(self) -> None:
        self._usual: deque[Point] = deque()
        self._num_bad = 0
        self._lasts_from: float | None = None  # the usual speed when it was found

    def had_been_found(self) -> None:
        self._lasts_from = math.inf  # until enough is known of what is usual now

    def take(self, point: Point) -> Finding | None:
        known = self._usual
        while known and known[0].at_s < point.at_s - self.USUAL_S:
            known.popleft()
        is_warm = len(known) >= self.FEWEST and point.at_s - known[0].at_s >= self.WARM_S
        usual = median(one.value for one in known) if is_warm else math.nan
        if self._lasts_from is not None:
            if math.isinf(self._lasts_from):
                self._lasts_from = usual if is_warm else math.inf
                known.append(point)
            elif point.value >= self.WELL * self._lasts_from:
                self._lasts_from = None
            return None
        if not point.value < self.BAD * usual:
            self._num_bad = 0
            self._remember(point)
            return None
        self._num_bad += 1
        if self._num_bad < self.IN_A_ROW:
            return None
        self._num_bad, self._lasts_from = 0, usual
        text = f"speed fell to {format_si(point.value)}, under half of the usual {format_si(usual)}"
        return Finding(text, {"value": point.value, "usual": usual})

    def _remember(self, point: Point) -> None:
        """One point a second is enough to know what is usual."""
        if len(self._usual) < self.FEWEST or point.at_s - self._usual[-1].at_s >= 1.0:
            self._usual.append(point)


class SlowDecline:
    """Speed that has lost a fifth within five minutes, as of a machine that throttles: the mean of
    the newest half minute beside that of the half minute five minutes before.

    After a finding the speed must come back to 90 % of what it was, or lose another fifth.
    """

    name = "decline"
    BAD, WELL = 0.8, 0.9
    OVER_S, MEAN_S = 300.0, 30.0

    def __init__(self) -> None:
        self._points: deque[Point] = deque()
        self._lasts_from: float | None = None

    def had_been_found(self) -> None:
        pass  # five minutes must pass before anything is found anew

    def take(self, point: Point) -> Finding | None:
        points = self._points
        if points and point.at_s - points[-1].at_s < 1.0:  # one a second is enough
            return None
        points.append(point)
        while points[0].at_s < point.at_s - self.OVER_S - self.MEAN_S:
            points.popleft()
        if points[0].at_s > point.at_s - self.OVER_S:
            return None
        now = fmean(one.value for one in points if one.at_s > point.at_s - self.MEAN_S)
        then = fmean(one.value for one in points if one.at_s <= point.at_s - self.OVER_S)
        if self._lasts_from is not None and now >= self.WELL * self._lasts_from:
            self._lasts_from = None
        if self._lasts_from is not None or not now < self.BAD * then:
            return None
        self._lasts_from = then
        points.clear()  # another fifth counts from here
        points.append(point)
        text = f"speed declined to {format_si(now)}, {format_si(then)} five minutes before"
        return Finding(text, {"value": now, "before": then})


class CollapsedEntropy:
    """Entropy all but gone, for a while: the policy has stopped exploring. Well again: twice that.

    Of discrete actions, whose entropy starts well above 0 and ends there. That of continuous ones
    is a logarithm of a density, passes through 0 and may be negative all the time: one value below
    0 shows that nothing can be said here.
    """

    name = "entropy"
    BAD, WELL, IN_A_ROW, FIRST = 0.05, 0.1, 20, 3

    def __init__(self) -> None:
        self._first: list[float] = []
        self._num_bad = 0
        self._lasts = self._may_be_negative = False

    def had_been_found(self) -> None:
        self._lasts = True

    def take(self, point: Point) -> Finding | None:
        self._may_be_negative |= point.value < 0
        if len(self._first) < self.FIRST:
            self._first.append(point.value)
            return None
        first = max(self._first)
        self._lasts &= point.value <= self.WELL * first
        if self._may_be_negative or self._lasts or not point.value < self.BAD * first:
            self._num_bad = 0
            return None
        self._num_bad += 1
        if self._num_bad < self.IN_A_ROW:
            return None
        self._lasts = True
        text = f"entropy collapsed to {format_value(point.value)}"
        text += f", from {format_value(first)} at the start"
        return Finding(text, {"value": point.value, "first": first})


class KlSpike:
    """An update that moved the policy eight times as far as the median of the 64 before it, and
    0.02 nats at least. The first twenty are larger than others. After a spike the next counts once
    twenty updates were under half of what a spike is.
    """

    name = "kl"
    BAD, AT_LEAST, CALM, NEAR, FEWEST = 8.0, 0.02, 20, 64, 20

    def __init__(self) -> None:
        self._near: deque[float] = deque(maxlen=self.NEAR)
        self._num_seen = 0
        self._num_calm = self.CALM

    def had_been_found(self) -> None:
        self._num_calm = 0

    def take(self, point: Point) -> Finding | None:
        usual = median(self._near) if len(self._near) >= self.FEWEST else math.inf
        limit = max(self.BAD * usual, self.AT_LEAST)
        is_spike, is_calm = point.value > limit, self._num_calm >= self.CALM
        self._num_calm = self._num_calm + 1 if point.value < limit / 2 else 0
        self._num_seen += 1
        if self._num_seen > self.FEWEST:  # the very first say nothing of the others
            self._near.append(point.value)
        if not (is_spike and is_calm):
            return None
        text = f"KL spike of {format_value(point.value)}, the median is {format_value(usual)}"
        return Finding(text, {"value": point.value, "usual": usual})


class Still:
    """Published again and again with no env step done, for a minute of nothing but that: the clock
    starts anew with every step, and with every evaluation or whatever else takes its time.
    """

    name = "still"
    STILL_S, FEWEST = 60.0, 3

    def __init__(self) -> None:
        self._env_steps = -1.0
        self._since_s, self._num_points = 0.0, 0
        self._lasts = False

    def had_been_found(self) -> None:
        self._lasts = True

    def paused(self, at_s: float) -> None:
        """The run does something that makes no env steps."""
        self._since_s = max(self._since_s, at_s)

    def take(self, point: Point) -> Finding | None:
        if point.value != self._env_steps:
            self._lasts &= self._env_steps < 0
            self._env_steps, self._since_s, self._num_points = point.value, point.at_s, 1
            return None
        self._num_points += 1
        stood_s = point.at_s - self._since_s
        if self._lasts or self._num_points < self.FEWEST or stood_s < self.STILL_S:
            return None
        self._lasts = True
        text = f"no progress: env steps have stood still for {format_duration(stood_s)}"
        return Finding(text, {"value": point.value, "stood_s": stood_s})
