"""From the rows of a history to the dots of a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...shared import History
from ...shared.rows.history import Series
from ..render.canvas import DOTS_HIGH, Integers, Spans, no_spans
from .ticks import LARGEST, dot_rows_of

Floats = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Curve:
    """The written points of one metric, ordered by `x`, each [P] and finite. `breaks` are the
    points that no line leads to from the one before.
    """

    x: Floats
    low: Floats
    mean: Floats
    high: Floats
    breaks: Flags

    def __len__(self) -> int:
        return len(self.x)


_NOTHING = np.zeros(0)
NO_CURVE = Curve(_NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros(0, np.bool_))


def curve_of(history: History, name: str, x: Floats, breaks: Flags | None = None) -> Curve:
    """The points of metric `name` at the places `x` [R] of the rows.

    Rows without the metric, or without a place on the axis, are left out: most metrics are not in
    every publish. The line breaks where something was written that is no finite number, and before
    the rows of `breaks` [R].
    """
    series = history.series(name)
    return _curve(series, np.where(x >= 0, x, np.nan), history.gaps(series), breaks)


def curve_over(history: History, name: str, step_metric: str) -> Curve:
    """The points of metric `name` at the values of its step metric."""
    series = history.series(name)
    return _curve(series, steps_of(history, step_metric), history.gaps(series), None)


def steps_of(history: History, step_metric: str) -> Floats:
    """The newest value of a step metric as of each row [R]; NaN before its first."""
    values = history.series(step_metric).mean
    newest = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -1))
    return np.where(newest >= 0, values[newest], np.nan)


def _curve(series: Series, x: Floats, gaps: Flags, breaks: Flags | None) -> Curve:
    written = np.isfinite(series.mean) & np.isfinite(x)
    points = [x[written], *(values[written] for values in series)]
    if breaks is not None:
        gaps = gaps | breaks
    so_far = np.cumsum(gaps)[written]
    is_broken = np.diff(so_far, prepend=so_far[:1]) > 0
    if len(points[0]) > 1 and (np.diff(points[0]) < 0).any():
        order = np.argsort(points[0], kind="stable")
        points, is_broken = [point[order] for point in points], is_broken[order]
    low, mean, high = (np.clip(values, -LARGEST, LARGEST) for values in points[1:])
    return Curve(points[0], low, mean, high, is_broken)


def value_at(curve: Curve, x: float) -> float | None:
    """Mean of the newest point at or before `x`; None if there is none, or a gap follows."""
    place = int(np.searchsorted(curve.x, x, side="right")) - 1
    if place < 0:
        return None
    is_in_gap = place + 1 < len(curve) and curve.breaks[place + 1] and curve.x[place] < x
    return None if is_in_gap else float(curve.mean[place])


def difference(curve: Curve, reference: Curve) -> Curve:
    """`curve` less `reference`, where both are: the reference is taken straight between its points.

    Its own spread does not count: the band stays that of `curve`.
    """
    if not len(reference):
        return NO_CURVE
    inside = (curve.x >= reference.x[0]) & (curve.x <= reference.x[-1])
    x = curve.x[inside]
    less = np.interp(x, reference.x, reference.mean)
    low, mean, high = (side[inside] - less for side in (curve.low, curve.mean, curve.high))
    return Curve(x, low, mean, high, curve.breaks[inside])


@dataclass(frozen=True)
class Columns:
    """A curve gathered into the dot columns it meets, each [K]: the `places` of those columns,
    rising, and of the points in each the lowest, the mean and the highest value. `breaks` are the
    columns that no line leads to from the one before.
    """

    places: Integers
    low: Floats
    mean: Floats
    high: Floats
    breaks: Flags

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
        return Columns(column, _NOTHING, _NOTHING, _NOTHING, np.zeros(0, np.bool_))
    return Columns(
        column[starts],
        np.minimum.reduceat(curve.low[is_inside], starts),
        np.add.reduceat(curve.mean[is_inside], starts) / np.diff(starts, append=len(column)),
        np.maximum.reduceat(curve.high[is_inside], starts),
        np.logical_or.reduceat(curve.breaks[is_inside], starts),
    )


def line_spans(
    columns: Columns, y_range: tuple[float, float], dot_columns: int, dot_rows: int
) -> Spans:
    """The dots of a line through the means, straight from one column to the next that has any."""
    spans = no_spans(dot_columns)
    if not len(columns):
        return spans
    levels = _dot_rows(columns.mean, y_range, dot_rows)
    places = columns.places
    first, last = int(places[0]), int(places[-1])
    between = np.arange(first, last + 1)
    passes = [np.interp(between + x, places, levels) for x in (-0.5, 0.0, 0.5)]
    if columns.breaks[1:].any():
        broken = np.flatnonzero(columns.breaks[1:]) + 1
        passes[0][places[broken] - first] = levels[broken]
        passes[2][places[broken - 1] - first] = levels[broken - 1]
    rows = np.rint(passes).astype(np.intp)
    spans.top[first : last + 1] = rows.min(axis=0)
    spans.bottom[first : last + 1] = rows.max(axis=0)
    if columns.breaks[1:].any():
        blank = between_breaks(columns, between)
        spans.top[first : last + 1][blank] = 1
        spans.bottom[first : last + 1][blank] = 0
    return spans


def band_spans(
    columns: Columns, y_range: tuple[float, float], dot_columns: int, dot_rows: int
) -> Spans:
    """The dots from the lowest to the highest value of each column."""
    spans = no_spans(dot_columns)
    for side, values in ((spans.top, columns.high), (spans.bottom, columns.low)):
        side[columns.places] = np.rint(_dot_rows(values, y_range, dot_rows)).astype(np.intp)
    return spans


def between_breaks(columns: Columns, between: Integers) -> Flags:
    """Which of the columns `between` lie inside a break [like `between`]."""
    left = np.searchsorted(columns.places, between, side="right") - 1
    breaks_after = np.append(columns.breaks[1:], False)
    inside: Flags = breaks_after[left] & (columns.places[left] != between)
    return inside


def _dot_rows(values: Floats, y_range: tuple[float, float], dot_rows: int) -> Floats:
    """The dot row from above of each value, one row outside for what is out of range."""
    return np.clip(dot_rows_of(values, y_range, dot_rows // DOTS_HIGH), -1, dot_rows)
