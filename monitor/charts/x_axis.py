"""The count on a chart's horizontal axis, and the part of it that is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...shared import History
from ..render.canvas import DOTS_WIDE
from .curves import Flags, Floats
from .ticks import steady_end

XCount = Literal["env steps", "iterations", "wall time", "training time"]
X_COUNTS: tuple[XCount, ...] = ("env steps", "iterations", "wall time", "training time")
TRAINED = "trained"  # a unit of time in which nobody counted while no process trained

_TIME_UNITS = (("days", 86_400.0, 2.0), ("hours", 3_600.0, 2.0), ("minutes", 60.0, 3.0))
_PAUSE = 12.0  # times as long as the spacing before and after it: nobody trained then
_SMALLEST_PART = 1e-4
_ALL = 0.9  # of an axis that grows: what is shown after as many steps out as in


@dataclass(frozen=True)
class XAxis:
    """The unit of an axis and the place of every row of a history on it [R], negative where it has
    none. `pauses` are the rows before which the run stood still. On an axis of time `zero_s` is
    where it begins, `unit_s` how long a unit is; `is_training` where it leaves out downtime, and
    where the wall clock went back.
    """

    unit: str
    values: Floats
    pauses: Flags | None = None
    zero_s: float = 0.0
    unit_s: float = 0.0
    is_training: bool = False

    def places_of(self, rows: History) -> tuple[Floats, Flags | None]:
        """The places and the pauses of other rows of the same run."""
        if self.unit_s:
            seconds = (rows.elapsed_s if self.is_training else rows.wall_s) - self.zero_s
            return seconds / self.unit_s, None if self.pauses is None else _pauses(seconds)
        counts = {"env steps": rows.env_steps, "iterations": rows.iteration}
        return counts.get(self.unit, rows.publish).astype(np.float64), None


def x_axis(history: History, count: XCount = "env steps", unit_of: History | None = None) -> XAxis:
    """The axis asked for; where the run has no such count, its iterations, else its publishes.

    The unit of time fits `unit_of`, so that several runs have the same.
    """
    if count == "wall time":
        return _wall_time(history, unit_of or history)
    if count == "training time":
        return _training_time(history, unit_of or history)
    counts = {"env steps": history.env_steps, "iterations": history.iteration}
    for unit in dict.fromkeys([count, "iterations"]):
        if len(history) and counts[unit][-1] >= 0:
            return XAxis(unit, counts[unit].astype(np.float64))
    return XAxis("publishes", history.publish.astype(np.float64))


def whole_range(
    axes: Sequence[XAxis], is_alive: bool, width: float | None = None
) -> tuple[float, float]:
    """From the start of the runs to their end, with a little room ahead while one goes on: of the
    `width` that is shown, else of all.
    """
    places = [axis.values[axis.values >= 0] for axis in axes]
    return range_of([some for some in places if len(some)], is_alive, width)


def range_of(
    places: Sequence[Floats], is_alive: bool, width: float | None = None
) -> tuple[float, float]:
    """From the first of all places, each [P], to the last; from 0 where that is near."""
    if not places:
        return 0.0, 0.0
    start, end = (
        min(float(some.min()) for some in places),
        max(float(some.max()) for some in places),
    )
    start = 0.0 if 0.0 <= start <= 0.1 * end else start
    shown_from = start if width is None else max(start, end - width)
    return start, steady_end(shown_from, end) if is_alive else end


@dataclass(frozen=True)
class XWindow:
    """The part of an axis that is shown: `width` of it up to `end`. Without a width it is all of
    it; without an end it follows the newest point.
    """

    width: float | None = None
    end: float | None = None

    def shown(self, whole: tuple[float, float]) -> tuple[float, float]:
        """The range of the axis to draw, of the `whole` there is."""
        low, high = whole
        if self.width is None or not high > low:
            return whole
        width = min(self.width, high - low)
        end = high if self.end is None else min(max(self.end, low + width), high)
        return end - width, end

    def zoomed(self, whole: tuple[float, float], factor: float, about: float) -> XWindow:
        """`factor` times as much of the axis; what lies at share `about` of it stays in place."""
        low, high = self.shown(whole)
        full = whole[1] - whole[0]
        width = max((high - low) * factor, full * _SMALLEST_PART)
        if width >= (full if factor < 1 else _ALL * full):
            return XWindow()
        follows = self.end is None and about >= 1.0
        return XWindow(width, None if follows else low + about * (high - low - width) + width)

    def panned(self, whole: tuple[float, float], share: float) -> XWindow:
        """Moved by `share` of what is shown; it follows the newest point once it reaches it."""
        if self.width is None:
            return self
        low, high = self.shown(whole)
        end = high + share * (high - low)
        return replace(self, end=None if end >= whole[1] else max(end, whole[0] + high - low))


def window_between(low: float, high: float, whole: tuple[float, float]) -> XWindow:
    """The part from `low` to `high`; all of it where that is nothing."""
    width = high - low
    if not width > (whole[1] - whole[0]) * _SMALLEST_PART:
        return XWindow()
    return XWindow(width, None if high >= whole[1] else high)


def _wall_time(history: History, unit_of: History) -> XAxis:
    """Time since the run's first publish by the wall clock, with the pauses between its processes;
    by the time it trained where the wall clock went back.
    """
    name, unit_s = _unit_of_time(_seconds(unit_of))
    seconds = _seconds(history)
    is_training = _went_back(history)
    clock = history.elapsed_s if is_training else history.wall_s
    zero_s = float(clock[0]) if len(clock) else 0.0
    return XAxis(name, seconds / unit_s, _pauses(seconds), zero_s, unit_s, is_training)


def _training_time(history: History, unit_of: History) -> XAxis:
    """The same without the time between one process of the run and the next: a page counts on from
    where the one before it ended.
    """
    name, unit_s = _unit_of_time(unit_of.elapsed_s - unit_of.elapsed_s[:1])
    zero_s = float(history.elapsed_s[0]) if len(history) else 0.0
    values = (history.elapsed_s - zero_s) / unit_s
    return XAxis(f"{name} {TRAINED}", values, None, zero_s, unit_s, is_training=True)


def _unit_of_time(seconds: Floats) -> tuple[str, float]:
    """The name of the unit that fits a run of so many seconds, and how long it is."""
    reach = float(seconds[-1]) if len(seconds) else 0.0
    fitting = (unit for unit in _TIME_UNITS if reach >= unit[1] * unit[2])
    name, unit_s, _ = next(fitting, ("seconds", 1.0, 0.0))
    return name, unit_s


def _seconds(history: History) -> Floats:
    clock = history.elapsed_s if _went_back(history) else history.wall_s
    return clock - clock[:1]


def _went_back(history: History) -> bool:
    return bool((np.diff(history.wall_s) < 0).any())


def _pauses(seconds: Floats) -> Flags:
    """The rows that came much later than their neighbours did. A level of rows is eight times as
    dense as the next, so that much is usual.
    """
    pauses = np.zeros(len(seconds), np.bool_)
    if len(seconds) > 3:
        steps = np.diff(seconds)
        usual = np.maximum(steps[:-2], steps[2:])
        pauses[2:-1] = (steps[1:-1] > _PAUSE * usual) & (steps[1:-1] > 1.0)
    return pauses


def share_of(x: float, x_range: tuple[float, float]) -> float:
    """Where `x` lies in a range: 0 at its start, 1 at its end."""
    low, high = x_range
    return (x - low) / (high - low) if high > low and math.isfinite(x) else 0.5


def cell_of(x: float, x_range: tuple[float, float], columns: int) -> int:
    """The column of cells that a place on the axis lies in, which is that of its dots."""
    return round(share_of(x, x_range) * (DOTS_WIDE * columns - 1)) // DOTS_WIDE
