"""From the rows of a history to the dots of a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..shared import History
from .canvas import Integers, Spans
from .ticks import LARGEST

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class XAxis:
    """What a chart's horizontal axis counts, and the place of every row of the history [R]."""

    unit: str
    values: Floats


@dataclass(frozen=True)
class Curve:
    """The written points of one metric, ordered by `x`, each [P] and finite."""

    x: Floats
    low: Floats
    mean: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.x)


NO_CURVE = Curve(*[np.zeros(0)] * 4)


def x_axis(history: History) -> XAxis:
    """Env steps where the run counts them, else its iterations, else its publishes."""
    for unit, values in (("env steps", history.env_steps), ("iterations", history.iteration)):
        if len(values) and values[-1] >= 0:
            return XAxis(unit, values.astype(np.float64))
    return XAxis("publishes", history.publish.astype(np.float64))


def curve_of(history: History, name: str, x: XAxis) -> Curve:
    """The points of metric `name`. Rows where it was not written, or was no finite number, and rows
    without a place on the axis are left out: most metrics are not in every publish.
    """
    series = history.series(name)
    written = np.isfinite(series.mean) & (x.values >= 0)
    columns = [x.values[written], *(values[written] for values in series)]
    if len(columns[0]) > 1 and (np.diff(columns[0]) < 0).any():
        order = np.argsort(columns[0], kind="stable")
        columns = [column[order] for column in columns]
    places, *values = columns
    return Curve(places, *(np.clip(column, -LARGEST, LARGEST) for column in values))


@dataclass(frozen=True)
class Columns:
    """A curve gathered into the dot columns it meets, each [K]: the `places` of those columns,
    rising, and of the points in each the lowest, the mean and the highest value.
    """

    places: Integers
    low: Floats
    mean: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.places)


def gather(curve: Curve, x_range: tuple[float, float], dot_columns: int) -> Columns:
    """`curve` in `dot_columns` columns from the start of `x_range` to its end."""
    low, high = x_range
    if high > low:
        share = np.clip((curve.x - low) / (high - low), -1.0, 2.0)
    else:
        share = np.full(len(curve), 0.5)
    column = np.rint(share * (dot_columns - 1)).astype(np.intp)
    is_inside = (column >= 0) & (column < dot_columns)
    column = column[is_inside]
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    if not len(starts):
        return Columns(column, *[np.zeros(0)] * 3)
    return Columns(
        column[starts],
        np.minimum.reduceat(curve.low[is_inside], starts),
        np.add.reduceat(curve.mean[is_inside], starts) / np.diff(starts, append=len(column)),
        np.maximum.reduceat(curve.high[is_inside], starts),
    )


def line_spans(
    columns: Columns, y_range: tuple[float, float], dot_columns: int, dot_rows: int
) -> Spans:
    """The dots of a line through the means, straight from one column to the next that has any."""
    if not len(columns):
        return no_spans(dot_columns)
    levels = _dot_rows(columns.mean, y_range, dot_rows)
    first, last = int(columns.places[0]), int(columns.places[-1])
    between = np.arange(first, last + 1)
    passes = [np.interp(between + x, columns.places, levels) for x in (-0.5, 0.0, 0.5)]
    rows = np.rint(passes).astype(np.intp)
    spans = no_spans(dot_columns)
    spans.top[first : last + 1] = rows.min(axis=0)
    spans.bottom[first : last + 1] = rows.max(axis=0)
    return spans


def band_spans(
    columns: Columns, y_range: tuple[float, float], dot_columns: int, dot_rows: int
) -> Spans:
    """The dots from the lowest to the highest value of each column."""
    spans = no_spans(dot_columns)
    for side, values in ((spans.top, columns.high), (spans.bottom, columns.low)):
        side[columns.places] = np.rint(_dot_rows(values, y_range, dot_rows)).astype(np.intp)
    return spans


def no_spans(dot_columns: int) -> Spans:
    return Spans(np.ones(dot_columns, np.intp), np.zeros(dot_columns, np.intp))


def _dot_rows(values: Floats, y_range: tuple[float, float], dot_rows: int) -> Floats:
    """The dot row from above of each value, one row outside for what is out of range."""
    low, high = y_range
    return np.clip((high - values) / (high - low) * (dot_rows - 1), -1, dot_rows)
