"""A curve in one row of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...shared.history import Floats

BLOCKS = "▁▂▃▄▅▆▇█"


def sampled(x: Floats, y: Floats, num: int) -> tuple[float, ...]:
    """The means of `y` [P] in `num` parts, of equal width, of the way from the first `x` [P] to the
    last; straight lines where a part has no point. Points that are not finite are left out; empty
    where no point is left.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not len(x):
        return ()
    low, high = float(x.min()), float(x.max())
    width = (high - low) or 1.0
    part = np.minimum(((x - low) / width * num).astype(np.intp), num - 1)
    counts = np.bincount(part, minlength=num)
    with np.errstate(all="ignore"):
        means = np.bincount(part, weights=y, minlength=num) / np.maximum(counts, 1)
    filled = np.flatnonzero(counts)
    return tuple(np.interp(np.arange(num), filled, means[filled]).tolist())


def sparkline(values: Sequence[float], width: int) -> str:
    """`values` from left to right in `width` cells, from the lowest usual one to the highest; what
    lies beyond has the block at that end. Blank where there are none.
    """
    if not len(values) or width <= 0:
        return " " * max(0, width)
    low, high = _usual_range(values)
    places = np.arange(width) * (len(values) - 1) / max(1, width - 1)
    levels = np.interp(places, np.arange(len(values)), np.clip(values, low, high))
    low, high = float(levels.min()), float(levels.max())
    if not np.isfinite(high - low) or not high > low:
        return BLOCKS[0] * width
    steps = np.minimum((levels - low) / (high - low) * len(BLOCKS), len(BLOCKS) - 1)
    return "".join(BLOCKS[int(step)] for step in steps)


def _usual_range(values: Sequence[float]) -> tuple[float, float]:
    """From the lowest to the highest, but for one in twenty at either end that would flatten all
    the others. The newest value is usual, however new.
    """
    ordered = sorted(values)
    aside = -(-len(ordered) // 20)
    if len(ordered) < 8:
        return ordered[0], ordered[-1]
    low, high = ordered[aside], ordered[-1 - aside]
    reach = high - low
    low = low if ordered[0] < low - reach else ordered[0]
    high = high if ordered[-1] > high + reach else ordered[-1]
    return min(low, values[-1]), max(high, values[-1])
