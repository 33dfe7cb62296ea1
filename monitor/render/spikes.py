"""Which values are spikes, which an axis leaves out: one rule for charts and sparklines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...shared.rows.row_batch import Floats

Flags = np.ndarray[Any, np.dtype[np.bool_]]

FEWEST = 8  # values below which none is a spike
LONGEST = 3  # values in a row that can be one
SHARE = 20  # more spikes than one value in so many are how the curve is
FAR_AT_ENDS = 10  # times as far: a value at an end has neighbours on one side alone


def spikes(values: Floats, is_learning_curve: bool) -> Flags:
    """Flags [P] of the `values` [P], in the order of time, that are isolated: at most `LONGEST` in
    a row, further from all others than these are from each other.

    A running median stands for the others: a few values in a row cannot move it, and it keeps
    every rise, fall and step. The first and last values of a learning curve are never spikes: there
    an agent learns, or has just learned.
    """
    longest = min(LONGEST, len(values) // FEWEST)
    if not longest:
        return np.zeros(len(values), np.bool_)
    width = 2 * longest + 1
    ends = _median(values[None, :width]), _median(values[None, -width:])
    padded = np.concatenate([np.repeat(ends[0], longest), values, np.repeat(ends[1], longest)])
    medians = _median(np.lib.stride_tricks.sliding_window_view(padded, width))
    low, high = medians.min(), medians.max()
    reach = np.full(len(values), high - low)
    reach[:longest] = reach[-longest:] = (
        math.inf if is_learning_curve else FAR_AT_ENDS * (high - low)
    )
    found: Flags = (values < low - reach) | (values > high + reach)
    if found.sum() > max(longest, len(values) // SHARE):
        found[:] = False
    return found


def _median(rows: Floats) -> Floats:
    """The middle value of each row: `numpy.median` takes several times as long for a few."""
    middle = rows.shape[1] // 2
    median: Floats = np.partition(rows, middle, axis=1)[:, middle]
    return median
