"""Rows as numbers: what several publishes wrote, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..page.layout import NEVER, NEVER_BITS, VALUES_OFFSET

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


def batch_of(records: Sequence[bytes]) -> RowBatch:
    """The rows of whole records of a page's ring, at least one."""
    words = np.frombuffer(b"".join(record[:VALUES_OFFSET] for record in records), np.int64)
    found = words.reshape(-1, VALUES_OFFSET // 8)
    counts, num_places = found[:, 1] >> 32, found[:, 7]
    heads = np.ones((HEADS, len(records)), np.int64)
    heads[:SPAN] = found[:, 2:7].T
    rows = np.full((len(records), int(counts.max(initial=0))), NEVER_WRITTEN)
    # Rows of one shape at a time: most runs have few.
    shapes = np.stack([counts, num_places])
    for count, places in np.unique(shapes, axis=1).T.tolist():
        chosen = np.flatnonzero((counts == count) & (num_places == places))
        data = b"".join(records[row][VALUES_OFFSET:] for row in chosen.tolist())
        if places:
            _take_sparse(rows, chosen, data, places)
        else:
            rows[chosen, :count] = np.frombuffer(data, np.float64).reshape(len(chosen), count)
    columns = np.flatnonzero(is_written(rows).any(axis=0))
    return RowBatch(heads, columns, np.ascontiguousarray(rows[:, columns].T))


def _take_sparse(rows: Floats, chosen: Integers, data: bytes, num_places: int) -> None:
    """Put values into the places that stand before them, each [len(chosen), num_places]."""
    place_bytes = (2 * num_places + 7) // 8 * 8
    table = np.frombuffer(data, np.uint8).reshape(len(chosen), -1)
    places = np.ascontiguousarray(table[:, : 2 * num_places]).view(np.uint16)
    values = np.ascontiguousarray(table[:, place_bytes:]).view(np.float64)
    if places.max() < rows.shape[1] and values.shape[1] == num_places:
        rows[chosen[:, None], places] = values


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
