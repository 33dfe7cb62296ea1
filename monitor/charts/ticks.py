"""Where the ticks of an axis stand: at steps of 1, 2 or 5 times a power of ten."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..render.canvas import DOTS_HIGH

Floats = np.ndarray[Any, np.dtype[np.float64]]

LARGEST = 1e150  # beyond it, differences and squares no longer fit a number
SMALLEST_STEP = 1e-290
_NEAR_ZERO = 0.3  # a range that comes this near to zero, as a part of its far end, includes it


def nice_step_above(rough: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is `rough` or more."""
    rough = max(rough, SMALLEST_STEP)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 5, 10, 20) if m * power >= rough * (1 - 1e-9))


def nice_step_below(rough: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is `rough` or less."""
    rough = max(rough, SMALLEST_STEP)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (5, 2, 1, 0.5) if m * power <= rough * (1 + 1e-9))


class Scale(NamedTuple):
    """An axis from `low` to `high`, both multiples of `step`."""

    low: float
    high: float
    step: float


def nice_scale(low: float, high: float) -> Scale:
    """A scale around `low` to `high` that ends on round numbers and moves in steps, so that a live
    axis stands still most of the time. It is never empty.
    """
    low, high = (min(max(bound, -LARGEST), LARGEST) for bound in (low, high))
    if 0 < low < high * _NEAR_ZERO:
        low = 0.0
    if 0 > high > low * _NEAR_ZERO:
        high = 0.0
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        margin = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = low - margin, high + margin
    step = nice_step_below((high - low) / 8)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, step)


def steady_end(start: float, end: float) -> float:
    """An end for a growing axis, at most a sixteenth beyond `end`: it moves now and then, not with
    every publish, and the curve before it stands still meanwhile.
    """
    if not end > start:
        return end
    step = nice_step_below((end - start) / 16)
    # An end on a multiple is there already, though the division says a trifle more.
    return max(end, start + math.ceil((end - start) / step - 1e-6) * step)


def ticks(low: float, high: float, at_most: int) -> Floats:
    """Up to `at_most` round numbers in [low, high], evenly spaced."""
    if at_most < 1 or not high > low:
        return np.zeros(0)
    step = nice_step_above((high - low) / at_most)
    while True:
        first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
        if last - first + 1 <= at_most:
            return np.arange(first, last + 1, dtype=np.float64) * step
        step = nice_step_above(step * 1.5)


def dot_rows_of(values: Floats, y_range: tuple[float, float], num_rows: int) -> Floats:
    """The dot row from above of each value in `num_rows` rows of cells. The ends of the range are
    in the middle of the first and of the last row, so that a curve lies on the line of its tick.
    """
    low, high = y_range
    return (high - values) / (high - low) * DOTS_HIGH * (num_rows - 1) + (DOTS_HIGH - 1) / 2


def tick_rows(scale: Scale, num_rows: int) -> dict[int, float]:
    """The ticks of a vertical axis by their row from above: both ends, and between them round
    numbers with a row of air around each.
    """
    return _rows_with_air(scale, num_rows, ticks)


def log_scale(low: float, high: float) -> Scale:
    """A scale in powers of ten around `low` to `high`, both powers themselves, that ends on 1, 2 or
    5 times one. It is never empty.
    """
    first, last = _round_below(low), _round_above(high)
    if last - first < 1e-9:
        first, last = _round_below(first - 0.05), _round_above(last + 0.05)
    return Scale(first, last, 1.0)


def log_ticks(low: float, high: float, at_most: int) -> Floats:
    """Up to `at_most` powers (of ten) between `low` and `high`, those of round numbers: tens,
    else 1, 2 and 5 times tens, else every so many tens.
    """
    if at_most < 1 or not high > low:
        return np.zeros(0)
    decades = np.arange(math.floor(low), math.ceil(high) + 1, dtype=np.float64)
    finer = (decades[:, None] + np.log10([1.0, 2.0, 5.0])).ravel()
    for powers in (finer, decades):
        inside = powers[(powers >= low - 1e-9) & (powers <= high + 1e-9)]
        if 2 <= len(inside) <= at_most:
            return inside
    if not len(inside):
        plain = ticks(10.0**low, 10.0**high, at_most) if -300 < low < high < 300 else inside
        return np.log10(plain[plain > 0])
    return inside[:: max(1, -(-len(inside) // at_most))]


def log_tick_rows(scale: Scale, num_rows: int) -> dict[int, float]:
    """Like `tick_rows`, for a logarithmic scale: rows and powers of ten."""
    return _rows_with_air(scale, num_rows, log_ticks)


def _rows_with_air(
    scale: Scale, num_rows: int, ticks_of: Callable[[float, float, int], Floats]
) -> dict[int, float]:
    rows = {0: scale.high, num_rows - 1: scale.low}
    found = ticks_of(scale.low, scale.high, max(3, num_rows // 2))
    places = np.rint(dot_rows_of(found, (scale.low, scale.high), num_rows)) // DOTS_HIGH
    for tick, row in zip(found.tolist(), places.astype(np.intp).tolist(), strict=True):
        if all(abs(row - taken) > 1 for taken in rows):
            rows[row] = tick
    return dict(sorted(rows.items()))


def _round_powers(power: float) -> list[float]:
    """The powers of 1, 2, 5 and 10 times the tens that `power` lies among."""
    decade = math.floor(power)
    return [decade + math.log10(mantissa) for mantissa in (1, 2, 5, 10)]


def _round_below(power: float) -> float:
    return max(step for step in _round_powers(power) if step <= power + 1e-9)


def _round_above(power: float) -> float:
    return min(step for step in _round_powers(power) if step >= power - 1e-9)
