"""The whole of a run as curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .layout import HISTORY_FOLD, NEVER, NEVER_BITS, VALUES_OFFSET

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HEAD_WORDS = VALUES_OFFSET // 8
NEVER_WRITTEN = np.frombuffer(NEVER, np.float64)[0]
PUBLISH, WALL_NS, MONOTONIC_NS, ITERATION, ENV_STEPS = range(2, 7)  # words of a record's head


class Series(NamedTuple):
    """One metric over the rows of a history, each [R]; NaN where it has no number."""

    low: Floats
    mean: Floats
    high: Floats


@dataclass(frozen=True)
class History:
    """A run from its first publish to its last: single publishes at the newest end, before them
    rows of 8, 64, ... publishes, each with the lowest, the mean and the highest value.
    """

    names: list[str] = field(default_factory=list)
    _heads: Integers = field(default_factory=lambda: np.zeros((0, HEAD_WORDS), np.int64))
    _values: list[Floats] = field(default_factory=list)  # by level, [R, M] or [R, 3, M]

    def __len__(self) -> int:
        return len(self._heads)

    @cached_property
    def publish(self) -> Integers:
        """Number of the newest publish in each row [R]; the same holds for what follows."""
        return self._heads[:, PUBLISH]

    @cached_property
    def iteration(self) -> Integers:
        """[R], negative where there is none."""
        return self._heads[:, ITERATION]

    @cached_property
    def env_steps(self) -> Integers:
        """[R], negative where there are none."""
        return self._heads[:, ENV_STEPS]

    @cached_property
    def elapsed_s(self) -> Floats:
        """Seconds since the page was made [R]."""
        return self._heads[:, MONOTONIC_NS] / 1e9

    @cached_property
    def wall_s(self) -> Floats:
        """Seconds since 1970 [R]."""
        return self._heads[:, WALL_NS] / 1e9

    @cached_property
    def num_publishes(self) -> Integers:
        """Publishes that each row stands for [R]: 1, 8, 64, ..."""
        spans = [HISTORY_FOLD**level for level in reversed(range(len(self._values)))]
        return np.repeat(np.array(spans, np.int64), [len(values) for values in self._values])

    def series(self, name: str) -> Series:
        """The values of metric `name`; all NaN when the run has none of that name."""
        if name not in self.names:
            nothing = np.full(len(self), NEVER_WRITTEN)
            return Series(nothing, nothing, nothing)
        place = self.names.index(name)
        columns = [
            np.repeat(values[:, place, None], 3, axis=1) if values.ndim == 2 else values[..., place]
            for values in self._values
        ]
        low, mean, high = np.concatenate([*columns, np.zeros((0, 3))]).T
        return Series(low, mean, high)

    def gaps(self, series: Series) -> NDArray[np.bool_]:
        """The rows of a series of this history in which something was written, but no finite
        number [R].
        """
        mean = np.ascontiguousarray(series.mean)
        found: NDArray[np.bool_] = ~np.isfinite(mean) & (mean.view(np.uint64) != NEVER_BITS)
        return found

    def until(self, num_rows: int) -> History:
        """The first `num_rows` rows: the run as it was when they were the newest."""
        values, left = [], num_rows
        for level in self._values:
            values.append(level[: max(0, left)])
            left -= len(level)
        return History(self.names, self._heads[:num_rows], values)

    def since(self, row: int) -> History:
        """The rows from number `row` on, counted from 0."""
        values, left = [], row
        for level in self._values:
            values.append(level[max(0, left) :])
            left -= len(level)
        return History(self.names, self._heads[row:], values)
