"""Levels of rows: each row of a level is eight rows of the level below, as their lowest, mean and
highest values. Level 0 are the rows as they were published.

A folded row has three values of each metric, at places 3 * p (the lowest), 3 * p + 1 (the mean) and
3 * p + 2 (the highest), where p is the place of the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..page.layout import MAX_METRICS
from .row_batch import (
    HEADS,
    NEVER_WRITTEN,
    SPAN,
    Cells,
    Floats,
    Integers,
    RowBatch,
    is_written,
    joined,
)

FOLD = 8
NUM_LEVELS = 7  # 4096 rows of the last are 1,073,741,824 publishes


class Piece(NamedTuple):
    """Rows `first` to `last` of one level, each counted from 1."""

    level: int
    first: int
    last: int


def pieces(first: int, last: int, max_rows: int, num_single: int = 0) -> list[Piece]:
    """How to read the rows from `first` to `last` as about `max_rows`, oldest first: the finest
    level that has no more, and finer ones for the rest at the end that fills none of its rows. The
    newest `num_single` are level 0. It may begin before `first`, where a row of its level does.
    """
    level = 0
    while level < NUM_LEVELS - 1 and (last - first + 1) // FOLD**level > max_rows:
        level += 1
    found, begin = [], (first - 1) // FOLD**level * FOLD**level  # rows before the next piece
    for finer in range(level, -1, -1):
        size = FOLD**finer
        end = last if finer == 0 else (last - num_single) // size * size
        if end > begin:
            found.append(Piece(finer, begin // size + 1, end // size))
            begin = end
    return found


def sides(batch: RowBatch, level: int) -> tuple[Integers, Floats, Floats, Floats]:
    """The places [C] and the lowest, mean and highest values [C, R] of rows of a level."""
    if level == 0:
        return batch.places, batch.values, batch.values, batch.values
    if len(batch.places) % 3:
        raise ValueError("a folded row has no three values a metric")
    return batch.places[::3] // 3, batch.values[::3], batch.values[1::3], batch.values[2::3]


def folded(batch: RowBatch, level: int) -> RowBatch:
    """Rows of the next level from rows of `level`, a multiple of eight.

    NaN and infinity do not count. A row in which a metric had nothing else is NaN; one in which it
    was never written stays so. The head is that of the newest row.
    """
    places, *values = sides(batch, level)
    num_folds = len(batch) // FOLD
    folds = _folded_values(*(side.reshape(len(places), num_folds, FOLD) for side in values))
    all_places = (3 * places[:, None] + np.arange(3)).reshape(-1)
    values_of_all = folds.swapaxes(0, 1).reshape(len(all_places), num_folds)
    return RowBatch(_folded_heads(batch.heads), all_places, values_of_all)


def folded_cells(cells: Cells) -> Cells:
    """The same of rows as cells, with three values each, or one at level 0."""
    keys = cells.rows // FOLD * MAX_METRICS + cells.places
    order = np.argsort(keys, kind="stable")  # fast, as each row is in order
    is_first = np.diff(keys[order], prepend=-1) > 0
    found = keys[order][is_first]
    eight = np.full((len(cells.values), len(found), FOLD), NEVER_WRITTEN)
    eight[:, np.cumsum(is_first) - 1, cells.rows[order] % FOLD] = cells.values[:, order]
    folds = _folded_values(*np.broadcast_to(eight, (3, *eight.shape[1:])))
    return Cells(_folded_heads(cells.heads), found // MAX_METRICS, found % MAX_METRICS, folds)


def _folded_values(lows: Floats, means: Floats, highs: Floats) -> Floats:
    """The lowest, mean and highest [3, ...] of eight rows, all [..., 8]."""
    with np.errstate(all="ignore"):
        is_finite = np.isfinite(means)
        count = is_finite.sum(axis=-1)
        low = np.where(is_finite, lows, np.inf).min(axis=-1)
        high = np.where(is_finite, highs, -np.inf).max(axis=-1)
        # Rounded sums may lie outside, and large ones overflow.
        mean = np.clip(np.where(is_finite, means, 0.0).sum(axis=-1) / count, low, high)
    nothing = np.where(is_written(means).any(axis=-1), np.nan, NEVER_WRITTEN)
    return np.stack([np.where(count > 0, side, nothing) for side in (low, mean, high)])


def _folded_heads(heads: Integers) -> Integers:
    newest = heads[:, FOLD - 1 :: FOLD].copy()
    newest[SPAN] = heads[SPAN].reshape(-1, FOLD).sum(axis=1)
    return newest


def folded_up(
    batch: RowBatch, left: Sequence[RowBatch]
) -> tuple[list[RowBatch], tuple[RowBatch, ...]]:
    """The new rows of every level, level 0 first, that `batch` brings, and what is left then.

    `left` are the rows of each level but the last that do not fill a row of the next yet.
    """
    new, now_left = [batch], []
    for level, before in enumerate(left):
        rows = joined([before, new[-1]])
        full = len(rows) // FOLD * FOLD
        now_left.append(rows.part(slice(full, None)))
        if not full:
            return new, (*now_left, *left[level + 1 :])
        new.append(folded(rows.part(slice(full)), level))
    return new, tuple(now_left)


def spread_out(batches: Sequence[RowBatch], level: int, places: Integers, num: int) -> Floats:
    """The lowest, mean and highest values of all of `num` metrics over rows of a level [3, num, R],
    or the values of level 0 [1, num, R]. `places` are the metrics' in the result, by their place in
    the batches; those beyond are left out.
    """
    num_rows = sum(map(len, batches))
    values = np.full((3 if level else 1, num, num_rows), NEVER_WRITTEN)
    begin = 0
    for batch in batches:
        end = begin + len(batch)
        own_places, *own = sides(batch, level)
        is_known = own_places < len(places)
        chosen = places[own_places[is_known]]
        for side, target in zip(own, values, strict=False):
            target[chosen, begin:end] = side[is_known]
        begin = end
    return values


def heads_of(batches: Sequence[RowBatch]) -> Integers:
    """The heads of batches that follow each other [6, R]."""
    return np.concatenate([np.zeros((HEADS, 0), np.int64), *(b.heads for b in batches)], axis=1)
