"""Points of curves, made from rows as they come: each metric's own, folded where they are many.

Metrics that were always written in the same rows are kept together, as a family. Once a family has
too many points, every two become one, which keeps the lowest, the mean and the highest value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...shared.page.history import Floats, Integers
from ...shared.page.layout import NEVER_BITS

MAX_POINTS = 1024  # of a metric, at least; up to twice as many before they are folded
FEWEST_POINTS = 128  # where there are thousands of metrics
MAX_VALUES = 1 << 20
PUBLISH, WALL_NS, ELAPSED_NS, ITERATION, ENV_STEPS, ROW = range(6)  # of heads


class Rows(NamedTuple):
    """Rows to be folded: `heads` [6, R], `places` [C] of the metrics, `values` [C, R] with the NaN
    of `layout.NEVER_BITS` for nothing, and their `spread`, lowest and highest values [2, C, R], of
    rows that are means already.
    """

    heads: Integers
    places: Integers
    values: Floats
    spread: Floats | None = None


@dataclass(frozen=True)
class Points:
    """The rows of one metric, oldest first, each [P]: `span` of them in one point, `newest_span` in
    the newest. `heads` [6, P] are those of the newest row in each, `own_x` the value of the
    metric's step metric there.
    """

    heads: Integers
    own_x: Floats
    low: Floats
    mean: Floats
    high: Floats
    span: int = 1
    newest_span: int = 1

    def __len__(self) -> int:
        return len(self.mean)

    @cached_property
    def publish(self) -> Integers:
        publish: Integers = self.heads[PUBLISH]
        return publish

    @cached_property
    def iteration(self) -> Integers:
        iteration: Integers = self.heads[ITERATION]
        return iteration

    @cached_property
    def env_steps(self) -> Integers:
        env_steps: Integers = self.heads[ENV_STEPS]
        return env_steps

    @cached_property
    def row(self) -> Integers:
        row: Integers = self.heads[ROW]
        return row

    @cached_property
    def elapsed_s(self) -> Floats:
        elapsed_s: Floats = self.heads[ELAPSED_NS] / 1e9
        return elapsed_s

    @cached_property
    def wall_s(self) -> Floats:
        wall_s: Floats = self.heads[WALL_NS] / 1e9
        return wall_s

    def until(self, publish: int) -> Points:
        """Those up to `publish`."""
        is_kept = self.publish <= publish
        heads, own_x = self.heads[:, is_kept], self.own_x[is_kept]
        low, mean, high = (side[is_kept] for side in (self.low, self.mean, self.high))
        newest_span = self.newest_span if is_kept.all() else self.span
        return Points(heads, own_x, low, mean, high, self.span, newest_span)


class FoldedPoints:
    """All metrics as they were at one moment, by their place; later rows change nothing of it."""

    def __init__(self, families: Sequence[_FamilyPoints], steps: Mapping[int, int]) -> None:
        """`steps` are the places of step metrics and where their values lie."""
        self._of_place = {
            place: (family, index)
            for family in families
            for index, place in enumerate(family.places)
        }
        self._steps = steps

    def points(self, place: int, step_place: int = -1) -> Points | None:
        """Of the metric at `place`; None where it was never written."""
        found = self._of_place.get(place)
        if found is None:
            return None
        family, index = found
        step = self._steps.get(step_place, -1)
        own_x = family.steps[step] if step >= 0 else np.full(family.heads.shape[1], np.nan)
        low, mean, high = family.values[:, index]
        return Points(family.heads, own_x, low, mean, high, family.span, family.newest_span)


class _FamilyPoints(NamedTuple):
    places: tuple[int, ...]
    heads: Integers  # [6, P]
    steps: Floats  # [S, P]
    values: Floats  # [3, F, P]: low, mean, high
    span: int
    newest_span: int


class PointFold:
    """Takes rows, gives points. `step_places` are the metrics that others are drawn over."""

    def __init__(self, num_metrics: int, step_places: Sequence[int] = ()) -> None:
        self._max_points = min(MAX_POINTS, max(FEWEST_POINTS, MAX_VALUES // max(1, num_metrics)))
        self._step_places = tuple(step_places)
        self._latest = np.full(len(self._step_places), np.nan)
        self._families: list[_Family] = []
        self._known: set[int] = set()
        self.num_rows = 0

    def add(self, rows: Rows) -> None:
        """Put rows behind those that there are."""
        if not rows.heads.shape[1]:
            return
        self.num_rows += rows.heads.shape[1]
        is_written = np.ascontiguousarray(rows.values).view(np.uint64) != NEVER_BITS
        steps = self._steps_of(rows)
        columns = {place: column for column, place in enumerate(rows.places.tolist())}
        patterns = [mask.tobytes() if mask.any() else b"" for mask in is_written]
        families: list[_Family] = []
        for family in self._families:
            families += family.split([patterns[c] if (c := columns.get(p, -1)) >= 0 else b""
                                      for p in family.places])  # fmt: skip
        new: dict[bytes, list[int]] = {}
        for place, column in columns.items():
            if place not in self._known and patterns[column]:
                new.setdefault(patterns[column], []).append(place)
                self._known.add(place)
        families += [_Family(tuple(places), len(steps)) for places in new.values()]
        for family in families:
            if (first := columns.get(family.places[0], -1)) >= 0 and patterns[first]:
                chosen = is_written[first]
                taken = [columns[place] for place in family.places]
                spread = None if rows.spread is None else rows.spread[:, taken][:, :, chosen]
                values = rows.values[taken][:, chosen]
                with np.errstate(all="ignore"):
                    family.append(rows.heads[:, chosen], steps[:, chosen], values, spread)
                    family.fold_down_to(self._max_points)
        self._families = families

    def folded(self) -> FoldedPoints:
        steps = {place: index for index, place in enumerate(self._step_places)}
        return FoldedPoints([family.points() for family in self._families], steps)

    def _steps_of(self, rows: Rows) -> Floats:
        """The newest values of the step metrics in each row [S, R]."""
        num_rows = rows.heads.shape[1]
        steps = np.full((len(self._step_places), num_rows), np.nan)
        for index, place in enumerate(self._step_places):
            column = np.flatnonzero(rows.places == place)
            if len(column):
                steps[index] = rows.values[column[0]]
            is_there = np.isfinite(steps[index])
            newest = np.maximum.accumulate(np.where(is_there, np.arange(num_rows), -1))
            filled = np.where(newest >= 0, steps[index][newest], self._latest[index])
            steps[index], self._latest[index] = filled, filled[-1]
        return steps


class _Family:
    """Metrics that were written in the same rows so far.

    What is in use of its buffers is never written again, so points that were given stay as they
    are; the newest point, as long as it is not full, lies in arrays of its own.
    """

    def __init__(self, places: tuple[int, ...], num_steps: int) -> None:
        self.places = places
        self._span, self._num_rows, self._end = 1, 0, 0
        self._heads = np.zeros((6, 64), np.int64)
        self._steps = np.zeros((num_steps, 64))
        self._values = np.zeros((3, len(places), 64))
        self._open: tuple[Integers, Floats, Floats] | None = None  # low, sum, high, count [4, F, 1]

    def split(self, patterns: Sequence[bytes]) -> list[_Family]:
        """As many families as there are different patterns, one for each of the places."""
        if len(set(patterns)) == 1:
            return [self]
        parts = []
        for pattern in dict.fromkeys(patterns):
            chosen = [index for index, other in enumerate(patterns) if other == pattern]
            part = _Family(tuple(self.places[index] for index in chosen), len(self._steps))
            part._span, part._num_rows, part._end = self._span, self._num_rows, self._end
            part._heads, part._steps = self._heads.copy(), self._steps.copy()
            part._values = self._values[:, chosen]
            if self._open:
                heads, steps, sums = self._open
                part._open = heads, steps, sums[:, chosen]
            parts.append(part)
        return parts

    def append(self, heads: Integers, steps: Floats, values: Floats, spread: Floats | None) -> None:
        """Rows in which all of the family is written."""
        values = np.where(np.isfinite(values), values, np.nan)
        low, high = (values, values) if spread is None else spread
        if self._span == 1:
            self._num_rows += values.shape[1]
            self._put(heads, steps, np.stack([low, values, high]))
            return
        group = np.arange(self._num_rows, self._num_rows + values.shape[1]) // self._span
        starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
        ends = np.append(starts[1:], len(group)) - 1
        sums = np.stack(
            [
                np.fmin.reduceat(low, starts, axis=1),
                np.add.reduceat(np.nan_to_num(values), starts, axis=1),
                np.fmax.reduceat(high, starts, axis=1),
                np.add.reduceat(np.isfinite(values).astype(np.float64), starts, axis=1),
            ]
        )
        if self._open:
            before = self._open[2][:, :, 0]
            sums[0, :, 0] = np.fmin(sums[0, :, 0], before[0])
            sums[2, :, 0] = np.fmax(sums[2, :, 0], before[2])
            sums[1::2, :, 0] += before[1::2]
        heads, steps = heads[:, ends], steps[:, ends]
        self._num_rows += values.shape[1]
        self._open = None
        if self._num_rows % self._span:
            self._open = heads[:, -1:], steps[:, -1:], sums[:, :, -1:]
            heads, steps, sums = heads[:, :-1], steps[:, :-1], sums[:, :, :-1]
        self._put(heads, steps, _means(sums))

    def fold_down_to(self, max_points: int) -> None:
        """Make one point of two until there are fewer than twice `max_points`."""
        while self._end >= 2 * max_points:
            full = self._end // 2 * 2
            low, mean, high = self._values[:, :, :full]
            is_known = np.isfinite(mean).reshape(*mean.shape[:1], -1, 2)
            pairs = np.nan_to_num(mean).reshape(is_known.shape)
            folded = np.stack(
                [
                    np.fmin(low[:, ::2], low[:, 1::2]),
                    _divided(pairs.sum(axis=2), is_known.sum(axis=2)),
                    np.fmax(high[:, ::2], high[:, 1::2]),
                ]
            )
            self._join_open(full)
            heads, steps = self._heads[:, 1:full:2].copy(), self._steps[:, 1:full:2].copy()
            self._span, self._end = 2 * self._span, 0
            self._values = np.zeros((3, len(self.places), 64))
            self._put(heads, steps, folded)

    def _join_open(self, full: int) -> None:
        """Where a point is left over, it and the one that is not full become one that is not."""
        if full == self._end:
            return
        low, mean, high = self._values[:, :, full : self._end]
        is_known = np.isfinite(mean)
        count = np.where(is_known, self._span, 0.0)
        sums = np.stack([low, np.nan_to_num(mean) * count, high, count])
        heads, steps = self._heads[:, full : self._end], self._steps[:, full : self._end]
        if self._open:
            heads, steps, newer = self._open
            sums[0] = np.fmin(sums[0], newer[0])
            sums[2] = np.fmax(sums[2], newer[2])
            sums[1::2] += newer[1::2]
        self._open = heads, steps, sums

    def points(self) -> _FamilyPoints:
        heads, steps = self._heads[:, : self._end], self._steps[:, : self._end]
        values = self._values[:, :, : self._end]
        if self._open:
            newest_heads, newest_steps, sums = self._open
            heads = np.concatenate([heads, newest_heads], axis=1)
            steps = np.concatenate([steps, newest_steps], axis=1)
            values = np.concatenate([values, _means(sums)], axis=2)
        newest_span = self._num_rows % self._span or self._span
        return _FamilyPoints(self.places, heads, steps, values, self._span, newest_span)

    def _put(self, heads: Integers, steps: Floats, values: Floats) -> None:
        """Append full points; buffers without room are made anew."""
        end = self._end + heads.shape[1]
        if end > self._heads.shape[1] or end > self._values.shape[2]:
            room = max(64, 2 * end)
            self._heads = _longer(self._heads[:, : self._end], room)
            self._steps = _longer(self._steps[:, : self._end], room)
            self._values = _longer(self._values[:, :, : self._end], room)
        self._heads[:, self._end : end] = heads
        self._steps[:, self._end : end] = steps
        self._values[:, :, self._end : end] = values
        self._end = end


def _means(sums: Floats) -> Floats:
    """From lowest, sum, highest and count [4, F, P] to lowest, mean and highest [3, F, P]."""
    return np.stack([sums[0], _divided(sums[1], sums[3]), sums[2]])


def _divided(sums: Floats, counts: Floats | Integers) -> Floats:
    """NaN where there is nothing to count."""
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def _longer(array: np.ndarray, room: int) -> np.ndarray:
    longer = np.zeros((*array.shape[:-1], room), array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer
