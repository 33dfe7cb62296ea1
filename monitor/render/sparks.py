"""A curve in one row of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...shared.rows.row_batch import Floats
from .spikes import spikes

BLOCKS = "▁▂▃▄▅▆▇"  # no full one: rows of them would melt into a slab
_CONSTANT = 1e-9


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


def sparkline(values: Sequence[float], width: int, is_learning_curve: bool = True) -> str:
    """`values` from left to right in `width` cells, from the lowest to the highest but for spikes,
    which have the block at their end. A constant lies in the middle. Blank where there are none.
    """
    if not len(values) or width <= 0:
        return " " * max(0, width)
    known = np.asarray(values, np.float64)
    usual = known[~spikes(known, is_learning_curve)]
    places = np.arange(width) * (len(known) - 1) / max(1, width - 1)
    levels = np.interp(places, np.arange(len(known)), known.clip(usual.min(), usual.max()))
    low, high = float(levels.min()), float(levels.max())
    if not np.isfinite(high - low) or high - low <= _CONSTANT * max(abs(low), abs(high)):
        return BLOCKS[len(BLOCKS) // 2] * width
    steps = np.minimum((levels - low) / (high - low) * len(BLOCKS), len(BLOCKS) - 1)
    return "".join(BLOCKS[int(step)] for step in steps)
