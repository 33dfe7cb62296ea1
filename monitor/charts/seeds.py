"""Several runs as one: the middle of their metrics over env steps, with an interval around it.

All are put on a grid of env steps that begins with the run that begins first and ends with the one
that ends last, straight from one of a run's points to its next. A run counts from its first point
of a metric to its own end, where its last value holds, and not where it wrote NaN or infinity: the
mean is that of the runs there are, and how many is known at every place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...shared import History, Metric
from ...shared.rows.history import Series
from ...shared.rows.row_batch import (
    ELAPSED_NS,
    ENV_STEPS,
    HEADS,
    ITERATION,
    NEVER_WRITTEN,
    PUBLISH,
    SPAN,
    WALL_NS,
)
from ...shared.runs.status import RunStatus
from ..runs.list.group_statistics import Spread, intervals, middle_of
from ..runs.reading.run_view import RunView
from .curves import Curve, Floats, curve_of

NUM_PLACES = 512
SEEDS = Metric("group/runs", level=1, description="that the means are of")


@dataclass(frozen=True, eq=False)
class SeedsHistory(History):
    """The histories of `members` as one, whose rows are places of the grid [R]. Metrics are worked
    out when they are asked for.
    """

    members: tuple[History, ...] = ()
    places: tuple[Floats, ...] = ()  # of each member's rows on the axis of the grid
    spread: Spread = "quartiles"
    _series: dict[str, tuple[Series, Floats]] = field(default_factory=dict)

    def series(self, name: str) -> Series:
        return self._of(name)[0]

    def num_seeds(self, name: str, x: float | None = None) -> int:
        """The runs that metric `name` is the mean of at `x`; where it ends without."""
        counts = self._of(name)[1]
        written = np.flatnonzero(counts)
        if not len(written):
            return 0
        place = int(written[-1])
        if x is not None:
            place = int(np.searchsorted(self.grid, x, side="right")) - 1
        return int(counts[place]) if 0 <= place < len(counts) else 0

    @property
    def grid(self) -> Floats:
        """The places of all rows [R]."""
        counts = [self.env_steps, self.iteration, self.publish]
        steps = next(count for count in counts if not len(count) or count[-1] >= 0)
        return steps.astype(np.float64)

    def _of(self, name: str) -> tuple[Series, Floats]:
        """The values, and of how many runs [R]."""
        if name not in self._series:
            if name == SEEDS.name:
                there = [np.where((x[0] <= self.grid) & (self.grid <= x[-1]), 1.0, np.nan)
                         for x in self.places if len(x)]  # fmt: skip
                count = np.nansum(there, axis=0) if there else np.zeros(len(self))
                self._series[name] = Series(count, count, count), count
            else:
                curves = [
                    _held(curve_of(member, name, x), member, name, x)
                    for member, x in zip(self.members, self.places, strict=True)
                    if name in member.names
                ]
                self._series[name] = _middle([on_grid(c, self.grid) for c in curves], self)
        return self._series[name]


def seeds_history(members: Sequence[History], spread: Spread) -> SeedsHistory:
    """Over env steps; over iterations, or publishes, where a member has none of them."""
    members = tuple(member for member in members if len(member))
    names = list(dict.fromkeys(name for member in members for name in member.names))
    field_of = ["env_steps", "iteration", "publish"]
    count = next(
        name for name in field_of if all(getattr(member, name)[-1] >= 0 for member in members)
    )
    places = tuple(getattr(member, count).astype(np.float64) for member in members)
    grid = _grid(places)
    heads = np.full((HEADS, len(grid)), -1, np.int64)
    heads[PUBLISH], heads[SPAN] = np.arange(1, len(grid) + 1), 1
    heads[WALL_NS] = heads[ELAPSED_NS] = 1e9 * _rising(members, places, "elapsed_s", grid)
    heads[ITERATION] = _rising(members, places, "iteration", grid)
    heads[{"env_steps": ENV_STEPS, "iteration": ITERATION, "publish": PUBLISH}[count]] = grid
    return SeedsHistory([*names, SEEDS.name], heads, members=members, places=places, spread=spread)


def seeds_view(label: str, views: Sequence[RunView], spread: Spread) -> RunView:
    """One view of runs that are drawn as one. Numbers are the means of the runs that reach the end
    of the mean curve.
    """
    history = seeds_history([view.history for view in views], spread)
    is_alive = any(view.status.is_alive for view in views)
    status = RunStatus(label, "running" if is_alive else "finished")
    schema: dict[str, Metric] = {}
    for metric in (metric for view in views for metric in view.schema):
        schema.setdefault(metric.name, metric)
    if len(history) and len({float(x[-1]) for x in history.places}) > 1:
        schema[SEEDS.name] = SEEDS
    end = max((float(x[-1]) for x in history.places), default=0.0)
    shown = [view for view in views if len(view.history)]
    last = [v for v, x in zip(shown, history.places, strict=True) if float(x[-1]) == end]
    newest = {name: _newest(name, last, history) for name in schema}
    newest[SEEDS.name] = float(len(last))
    publish = sum(view.publish for view in views)
    status = replace(status, metrics=newest, env_steps=int(end) if len(history) else None)
    return RunView(status, history, tuple(schema.values()), publish=publish)


def on_grid(curve: Curve, grid: Floats) -> Floats:
    """The values of `curve` at the places of `grid` [R]: straight between its points, NaN before
    the first, after the last and where its line breaks.
    """
    values = np.full(len(grid), np.nan)
    if not len(curve):
        return values
    inside = (grid >= curve.x[0]) & (grid <= curve.x[-1])
    values[inside] = np.interp(grid[inside], curve.x, curve.mean)
    if curve.breaks.any():
        after = np.searchsorted(curve.x, grid, side="left")  # the point at or after each place
        known = np.minimum(after, len(curve) - 1)
        values[curve.breaks[known] & (curve.x[known] > grid)] = np.nan
    return values


def _held(curve: Curve, history: History, name: str, x: Floats) -> Curve:
    """`curve` to the last row of its run, which may lack the metric: no episode ended in it. Not
    after NaN or infinity.
    """
    if not len(curve) or curve.x[-1] >= x.max():
        return curve
    if (history.gaps(history.series(name)) & (x > curve.x[-1])).any():
        return curve
    ends = (float(x.max()), curve.low[-1], curve.mean[-1], curve.high[-1], False)
    sides = (curve.x, curve.low, curve.mean, curve.high, curve.breaks)
    return Curve(*(np.append(side, end) for side, end in zip(sides, ends, strict=True)))


def _middle(curves: Sequence[Floats], history: SeedsHistory) -> tuple[Series, Floats]:
    """Interval and number of the curves, each [R] with NaN where there are none."""
    if not curves:
        nothing = np.full(len(history), NEVER_WRITTEN)
        return Series(nothing, nothing, nothing), np.zeros(len(history))
    rising = np.sort(np.stack(curves), axis=0)  # NaN last
    counts = np.isfinite(rising).sum(axis=0)
    sides = np.full((3, len(history)), NEVER_WRITTEN)
    for count in np.unique(counts[counts > 0]):
        places = counts == count
        low, middle, high = intervals(rising[:count, places], history.spread)
        ends = (np.where(np.isnan(end), middle, end) for end in (low, high))  # one run has no band
        sides[:, places] = np.stack([next(ends), middle, next(ends)])
    return Series(*sides), counts.astype(np.float64)


def _grid(places: Sequence[Floats]) -> Floats:
    ends = [(float(x.min()), float(x.max())) for x in places]
    if not ends:
        return np.zeros(0)
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    # The ends of the runs as well, so that none is a step short.
    return np.unique(np.rint([*np.linspace(low, high, NUM_PLACES), *(end for _, end in ends)]))


def _rising(
    members: Sequence[History], places: Sequence[Floats], name: str, grid: Floats
) -> Floats:
    """The mean of what members count, where each is: never less than before."""
    if not members:
        return np.zeros(len(grid))
    curves = []
    for member, x in zip(members, places, strict=True):
        order = np.argsort(x, kind="stable")
        values = np.asarray(getattr(member, name), np.float64)[order]
        curves.append(np.interp(grid, x[order], values, left=np.nan, right=np.nan))
    counts = np.isfinite(curves).sum(axis=0)
    means = np.nansum(curves, axis=0) / np.maximum(counts, 1)
    rising: Floats = np.maximum.accumulate(means)
    return rising


def _newest(name: str, views: Sequence[RunView], history: SeedsHistory) -> float:
    """The middle of the runs that reach the end, `views`. Where the last row of one lacks the
    metric, its last value counts; infinity stays.
    """
    values = [view.newest.get(name, np.nan) for view in views]
    if values and np.isnan(values).any() and not np.isinf(values).any():
        return float(history.series(name).mean[-1])
    if any(np.isinf(values)):
        return float(np.nanmean(values))
    middle = middle_of(values, history.spread)
    return middle.value if middle else math.nan
