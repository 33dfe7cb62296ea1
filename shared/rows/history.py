"""Rows of a run as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .row_batch import (
    ELAPSED_NS,
    ENV_STEPS,
    HEADS,
    ITERATION,
    NEVER_WRITTEN,
    PUBLISH,
    SPAN,
    WALL_NS,
    Floats,
    Integers,
    is_written,
)


class Series(NamedTuple):
    """One metric over the rows of a history, each [R]; NaN where it has no number."""

    low: Floats
    mean: Floats
    high: Floats


@dataclass(frozen=True)
class History:
    """Rows of a run, oldest first: single publishes, or the lowest, the mean and the highest value
    of 8, 64, ... of them. `first_row` is the number of the first publish in it, counted from 1.
    """

    names: list[str] = field(default_factory=list)
    heads: Integers = field(default_factory=lambda: np.zeros((HEADS, 0), np.int64))
    # One after the other: [1, M, R] of single publishes, [3, M, R] of folded rows.
    values: Sequence[Floats] = ()
    first_row: int = 1

    def __len__(self) -> int:
        return self.heads.shape[1]

    @cached_property
    def publish(self) -> Integers:
        """Number of the newest publish in each row [R]; the same holds for what follows."""
        return self.heads[PUBLISH]

    @cached_property
    def iteration(self) -> Integers:
        """[R], negative where there is none."""
        return self.heads[ITERATION]

    @cached_property
    def env_steps(self) -> Integers:
        """[R], negative where there are none."""
        return self.heads[ENV_STEPS]

    @cached_property
    def elapsed_s(self) -> Floats:
        """Seconds since the page was made [R]."""
        return self.heads[ELAPSED_NS] / 1e9

    @cached_property
    def wall_s(self) -> Floats:
        """Seconds since 1970 [R]."""
        return self.heads[WALL_NS] / 1e9

    @cached_property
    def num_publishes(self) -> Integers:
        """Publishes that each row stands for [R]: 1, 8, 64, ..."""
        return self.heads[SPAN]

    @cached_property
    def is_folded(self) -> bool:
        """Whether any row stands for several publishes."""
        return bool((self.num_publishes > 1).any())

    @cached_property
    def last_row(self) -> Integers:
        """Number of the newest publish in each row, counted as `first_row` is [R]."""
        last: Integers = self.first_row - 1 + np.cumsum(self.num_publishes)
        return last

    def series(self, name: str) -> Series:
        """The values of metric `name`; all NaN when the run has none of that name."""
        if name not in self.names:
            nothing = np.full(len(self), NEVER_WRITTEN)
            return Series(nothing, nothing, nothing)
        place = self.names.index(name)
        parts = [np.broadcast_to(v[:, place], (3, v.shape[2])) for v in self.values]
        low, mean, high = np.concatenate([*parts, np.zeros((3, 0))], axis=1)
        return Series(low, mean, high)

    def gaps(self, series: Series) -> NDArray[np.bool_]:
        """The rows of a series of this history in which something was written, but no finite
        number [R].
        """
        return ~np.isfinite(series.mean) & is_written(series.mean)

    def until(self, num_rows: int) -> History:
        """The first `num_rows` rows: the run as it was when they were the newest."""
        values, left = [], num_rows
        for part in self.values:
            values.append(part[:, :, : max(0, left)])
            left -= part.shape[2]
        return History(self.names, self.heads[:, :num_rows], values, self.first_row)

    def until_publish(self, publish: int) -> History:
        """The rows up to the last that is not above `publish`."""
        kept = np.flatnonzero(self.publish <= publish)
        return self.until(int(kept[-1]) + 1 if len(kept) else 0)

    def since(self, row: int) -> History:
        """The rows from number `row` on, counted from 0."""
        values, left = [], row
        for part in self.values:
            values.append(part[:, :, max(0, left) :])
            left -= part.shape[2]
        first_row = self.first_row + int(self.num_publishes[:row].sum())
        return History(self.names, self.heads[:, row:], values, first_row)
