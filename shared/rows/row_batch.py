"""Rows as numbers: what several publishes wrote, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..page.layout import MAX_METRICS, NEVER, NEVER_BITS, VALUES_OFFSET

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEVER_WRITTEN = np.frombuffer(NEVER, np.float64)[0]
HEADS = 6
PUBLISH, WALL_NS, ELAPSED_NS, ITERATION, ENV_STEPS, SPAN = range(HEADS)


@dataclass(frozen=True)
class RowBatch:
    """Rows one after the other.

    `heads` [6, R] holds their publish, wall and elapsed nanoseconds, iteration, env steps, and how
    many rows each stands for: 1, or 8, 64, ... in a level of folded rows. `places` [C] are
    the metrics that any of them wrote and `values` [C, R] what they wrote, the NaN of
    `layout.NEVER_BITS` for nothing.
    """

    heads: Integers
    places: Integers
    values: Floats

    def __len__(self) -> int:
        return len(self.heads[PUBLISH])

    @property
    def publish(self) -> Integers:
        publish: Integers = self.heads[PUBLISH]
        return publish

    @property
    def env_steps(self) -> Integers:
        env_steps: Integers = self.heads[ENV_STEPS]
        return env_steps

    def part(self, rows: slice | NDArray[np.bool_]) -> RowBatch:
        """Some of the rows."""
        return RowBatch(self.heads[:, rows], self.places, self.values[:, rows])


NO_ROWS = RowBatch(np.zeros((HEADS, 0), np.int64), np.zeros(0, np.int64), np.zeros((0, 0)))


class Cells(NamedTuple):
    """Rows one after the other by the values that they have: what a row lacks takes nothing.

    `heads` [6, R] are those of a RowBatch. Each of N values has its row `rows` [N], rising from 0,
    and its metric `places` [N]. `values` are [1, N], or the lowest, mean and highest [3, N].
    """

    heads: Integers
    rows: Integers
    places: Integers
    values: Floats

    def __len__(self) -> int:
        return int(self.heads.shape[1])

    def part(self, begin: int, end: int) -> Cells:
        """The rows from `begin` up to `end`."""
        chosen = slice(*np.searchsorted(self.rows, (begin, end)))
        return Cells(
            self.heads[:, begin:end],
            self.rows[chosen] - begin,
            self.places[chosen],
            self.values[:, chosen],
        )

    def followed_by(self, newer: Cells) -> Cells:
        """These rows, then the `newer` ones."""
        return Cells(
            np.concatenate([self.heads, newer.heads], axis=1),
            np.concatenate([self.rows, newer.rows + len(self)]),
            np.concatenate([self.places, newer.places]),
            np.concatenate([self.values, newer.values], axis=1),
        )


NO_CELLS = Cells(NO_ROWS.heads, NO_ROWS.places, NO_ROWS.places, np.zeros((1, 0)))


def cells_of(records: Sequence[bytes]) -> Cells:
    """The rows of whole records of a page's ring, at least one."""
    words = np.frombuffer(b"".join([record[:VALUES_OFFSET] for record in records]), np.int64)
    found = words.reshape(-1, VALUES_OFFSET // 8)
    heads = np.ones((HEADS, len(records)), np.int64)
    heads[:SPAN] = found[:, 2:7].T
    rows, places, values = [], [], []
    # Rows of one shape at a time: most runs have few.
    counts, nums_places = found[:, 1] >> 32, found[:, 7]
    for count, num_places in set(zip(counts.tolist(), nums_places.tolist(), strict=True)):
        chosen = np.flatnonzero((counts == count) & (nums_places == num_places))
        data = b"".join([records[row][VALUES_OFFSET:] for row in chosen.tolist()])
        table = np.frombuffer(data, np.uint8).reshape(len(chosen), -1)
        place_bytes = (2 * num_places + 7) // 8 * 8
        numbers = np.ascontiguousarray(table[:, place_bytes:]).view(np.float64)
        if num_places:
            where = np.ascontiguousarray(table[:, : 2 * num_places]).view(np.uint16)
        else:
            where = np.broadcast_to(np.arange(count), (len(chosen), count))
        if where.shape != numbers.shape:
            continue
        row, column = np.nonzero(is_written(numbers) & (where < min(count, MAX_METRICS)))
        rows.append(chosen[row])
        places.append(where[row, column].astype(np.int64))
        values.append(numbers[row, column])
    order = np.argsort(np.concatenate([*rows, NO_ROWS.places]), kind="stable")
    chosen_rows, chosen_places, chosen_values = (
        np.concatenate([*parts, empty])[order]
        for parts, empty in (
            (rows, NO_ROWS.places),
            (places, NO_ROWS.places),
            (values, np.zeros(0)),
        )
    )
    return Cells(heads, chosen_rows, chosen_places, chosen_values[None])


def batch_of(records: Sequence[bytes]) -> RowBatch:
    """The rows of whole records of a page's ring, at least one."""
    cells = cells_of(records)
    columns = np.flatnonzero(np.bincount(cells.places))
    values = np.full((len(columns), len(cells)), NEVER_WRITTEN)
    values[np.searchsorted(columns, cells.places), cells.rows] = cells.values[0]
    return RowBatch(cells.heads, columns, values)


def is_written(values: Floats) -> NDArray[np.bool_]:
    """Which of `values` [C, R] a publish wrote: NaN counts, `layout.NEVER_BITS` does not [C, R]."""
    written: NDArray[np.bool_] = np.ascontiguousarray(values).view(np.uint64) != NEVER_BITS
    return written


def joined(batches: Sequence[RowBatch]) -> RowBatch:
    """One after the other, with the metrics of all of them; no rows where there are no batches."""
    batches = [batch for batch in batches if len(batch)]
    if not batches:
        return NO_ROWS
    if len(batches) == 1:
        return batches[0]
    places = np.unique(np.concatenate([batch.places for batch in batches]))
    num_rows = sum(map(len, batches))
    values = np.full((len(places), num_rows), NEVER_WRITTEN)
    begin = 0
    for batch in batches:
        columns = np.searchsorted(places, batch.places)
        values[columns, begin : begin + len(batch)] = batch.values
        begin += len(batch)
    return RowBatch(np.concatenate([batch.heads for batch in batches], axis=1), places, values)
