"""The range of a chart's vertical axis: all values where they fit together, else all but spikes,
whose values the chart says in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..render.spikes import spikes
from .curves import Columns, Curve
from .ticks import Floats

_NEWEST = 3  # columns at the newest end, whose middle value is never a spike
_WORTH = 2.0  # times as wide as what most of the curve needs: then all of it would flatten it
_CONSTANT = 1e-9


class Beyond(NamedTuple):
    """The value of one curve, the one at `place` of all, that lies furthest outside the axis, on
    the side that the field says, at `x`.
    """

    x: float
    value: float
    place: int
    is_above: bool


def y_range(
    gathered: Sequence[Columns], is_full: bool = False, is_learning_curve: bool = False
) -> tuple[float, float]:
    """The range that curves need together, of which some have columns: from the lowest value to the
    highest where `is_full`.
    """
    ranges = [
        _all_of(columns) if is_full else _usual(columns, is_learning_curve)
        for columns in gathered
        if len(columns)
    ]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def beyond(
    curves: Sequence[Curve], x_range: tuple[float, float], y_range: tuple[float, float]
) -> list[Beyond]:
    """The highest and the lowest of all values in a part of the axis, where the chart's vertical
    range leaves them out.
    """
    low, high = y_range
    margin = 1e-6 * (high - low)
    found = []
    for is_above in (True, False):
        extremes = [
            Beyond(*extreme, place, is_above)
            for place, curve in enumerate(curves)
            if (extreme := _extreme(curve, x_range, is_above)) is not None
        ]
        if not extremes:
            continue
        furthest = (max if is_above else min)(extremes, key=lambda extreme: extreme.value)
        outside = furthest.value - high if is_above else low - furthest.value
        if outside > margin:
            found.append(furthest)
    return found


def _extreme(
    curve: Curve, x_range: tuple[float, float], is_above: bool
) -> tuple[float, float] | None:
    """Where the highest or the lowest value in a part of the axis lies, and the value."""
    begin, end = np.searchsorted(curve.x, x_range[0]), np.searchsorted(curve.x, x_range[1], "right")
    side = (curve.high if is_above else curve.low)[begin:end]
    if not len(side):
        return None
    place = int(side.argmax() if is_above else side.argmin())
    return float(curve.x[begin + place]), float(side[place])


def _all_of(columns: Columns) -> tuple[float, float]:
    return float(columns.low.min()), float(columns.high.max())


def _usual(columns: Columns, is_learning_curve: bool) -> tuple[float, float]:
    """The range without spikes; all of it where that is not much wider. A learning curve shows the
    lowest and the highest value of every other column; others show their usual spread, on both
    sides alike.
    """
    whole_low, whole_high = _all_of(columns)
    is_usual = ~spikes(columns.mean, is_learning_curve)
    if is_learning_curve:
        low, high = float(columns.low[is_usual].min()), float(columns.high[is_usual].max())
    else:
        means = columns.mean[is_usual]
        # A level that the newest end has reached is no spike, however new.
        newest = float(np.sort(columns.mean[-_NEWEST:])[len(columns.mean[-_NEWEST:]) // 2])
        below, above = _median(columns.mean - columns.low), _median(columns.high - columns.mean)
        low = max(min(float(means.min()), newest) - min(below, 2 * above), whole_low)
        high = min(max(float(means.max()), newest) + min(above, 2 * below), whole_high)
    width, size = high - low, max(abs(low), abs(high))
    if width <= _CONSTANT * size:
        width = 0.2 * size  # what the axis of a constant shows
    if not width or whole_high - whole_low <= _WORTH * width:
        return whole_low, whole_high
    return low, high


def _median(values: Floats) -> float:
    """Any middle value: `numpy.median` takes several times as long for a few hundred."""
    middle = len(values) // 2
    return float(np.partition(values, middle)[middle])
