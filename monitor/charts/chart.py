"""One chart as lines of text: curves on a canvas in a frame with the name and the value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..look.canvas import DOTS_HIGH, DOTS_WIDE, Canvas, dashed
from ..look.formatting import format_ticks, log_tick_label
from ..look.lines import Line, fit
from .curves import NO_CURVE, Columns, Curve, band_spans, gather, line_spans
from .frame import bottom_edge, inside_of, top_edge
from .ticks import Floats, Scale, log_scale, log_tick_rows, nice_scale, tick_rows
from .x_axis import share_of

MIN_WIDTH, MIN_HEIGHT = 16, 4
GUTTER = 6  # cells for the labels at the left: the same in most charts, so that their axes align
_LEGEND_WIDTH, _LEGEND_HEIGHT = 60, 12  # from here a chart names its curves
_POINT = "●"
_MARKER_EVERY = 16  # cells


@dataclass(frozen=True)
class Trace:
    """One run in a chart. `dash` and `marker` tell it apart without colour; `label` names it and
    `value` is its value in words, where there is room for a legend. The one in front has a band,
    and those of which that `has_band` is said.
    """

    curve: Curve = NO_CURVE
    style: str = "series0"
    dash: tuple[int, int] = (1, 0)
    marker: str = ""
    label: str = ""
    value: str = ""
    has_band: bool = False


@dataclass(frozen=True)
class Chart:
    """What one chart shows: the first trace is the one in front. `value` is the one in words,
    `cursor` the place on the axis that it is of, `marks` places to look at; `note` explains it all
    where there is room.
    """

    title: str
    value: str
    traces: tuple[Trace, ...] = ()
    x_range: tuple[float, float] = (0.0, 0.0)
    note: str = ""
    unit: str = ""
    is_alarming: bool = False
    is_log_x: bool = False
    is_log_y: bool = False
    cursor: float | None = None
    marks: tuple[float, ...] = ()


def draw_chart(chart: Chart, width: int, height: int, is_selected: bool = False) -> list[Line]:
    """`chart` in a frame of `width` by `height` cells."""
    border = "focus" if is_selected else "border"
    top = top_edge(chart.title, _value(chart), chart.note, width, border, is_selected)
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return [top, *([] for _ in range(height - 1))][:height]
    plot = _on_its_axes(chart)
    gathered = _gathered(plot, width - GUTTER - 4)
    if not any(len(columns) for columns in gathered):
        return [
            top,
            *inside_of(_excuse(chart), width, height - 2, border),
            bottom_edge(width, border),
        ]
    scale = _y_scale(gathered, chart.is_log_y)
    labels = _labels(scale, height - 2, chart.is_log_y)
    gutter = max(GUTTER, *(len(label) for label in labels.values()))
    canvas = Canvas(width - gutter - 4, height - 2)
    if gutter > GUTTER:
        gathered = _gathered(plot, canvas.columns)
    _draw(canvas, plot, gathered, scale, list(labels))

    lines = [top]
    for row, line in enumerate(canvas.lines()):
        label = fit(labels.get(row, ""), gutter, ">")
        lines.append([("│", border), (f"{label} ", "dim"), *line, (" │", border)])
    axis = bottom_edge(
        width, border, plot.x_range, gutter + 2, plot.is_log_x, plot.cursor, plot.marks
    )
    return [*lines, axis]


def _value(chart: Chart) -> Line:
    value: Line = [(f" {chart.value}", "error" if chart.is_alarming else "strong")]
    return [*value, (f" {chart.unit}", "dim")] if chart.unit else value


def _excuse(chart: Chart) -> str:
    """Why there is nothing to draw."""
    if any(len(trace.curve) for trace in chart.traces):
        return "nothing above 0 on a log axis" if chart.is_log_y else "nothing here"
    return "no finite value yet" if chart.is_alarming else f"waiting for {chart.title}"


def _on_its_axes(chart: Chart) -> Chart:
    """`chart` with powers of ten in place of all numbers on axes that are logarithmic."""
    curves = [trace.curve for trace in chart.traces]
    if chart.is_log_y:
        curves = [_log_y(curve) for curve in curves]
    if chart.is_log_x:
        curves = [_log_x(curve) for curve in curves]
        firsts = [10.0 ** float(curve.x[0]) for curve in curves if len(curve)]
        low, high = chart.x_range
        low = max(low, min(firsts)) if firsts else low
        powers = (math.log10(low), math.log10(high)) if 0 < low < high else (0.0, 0.0)
        chart = replace(
            chart,
            x_range=powers,
            cursor=math.log10(chart.cursor) if chart.cursor and chart.cursor > 0 else None,
            marks=tuple(math.log10(mark) for mark in chart.marks if mark > 0),
        )
    traces = [replace(t, curve=c) for t, c in zip(chart.traces, curves, strict=True)]
    return replace(chart, traces=tuple(traces))


def _log_y(curve: Curve) -> Curve:
    """The positive points; a band that reaches below ends at its line."""
    keep = curve.mean > 0
    low, high = (
        np.where(side[keep] > 0, side[keep], curve.mean[keep]) for side in (curve.low, curve.high)
    )
    low, mean, high = (np.log10(side) for side in (low, curve.mean[keep], high))
    return Curve(curve.x[keep], low, mean, high, curve.breaks[keep])


def _log_x(curve: Curve) -> Curve:
    keep = curve.x > 0
    low, mean, high = (side[keep] for side in (curve.low, curve.mean, curve.high))
    return Curve(np.log10(curve.x[keep]), low, mean, high, curve.breaks[keep])


def _gathered(chart: Chart, columns: int) -> list[Columns]:
    return [gather(trace.curve, chart.x_range, DOTS_WIDE * columns) for trace in chart.traces]


def _y_scale(gathered: Sequence[Columns], is_log: bool) -> Scale:
    """Room for the lines and for the usual spread around them, on both sides alike: spikes, which
    go to one side, leave the chart rather than flatten it. No room beyond any value.
    """
    lows, highs = [], []
    for columns in gathered:
        if len(columns):
            below = _median(columns.mean - columns.low)
            above = _median(columns.high - columns.mean)
            lows.append(max(columns.mean.min() - min(below, 2 * above), columns.low.min()))
            highs.append(min(columns.mean.max() + min(above, 2 * below), columns.high.max()))
    low, high = float(min(lows)), float(max(highs))
    return log_scale(low, high) if is_log else nice_scale(low, high)


def _median(values: Floats) -> float:
    """Any middle value: `numpy.median` takes several times as long for a few hundred."""
    middle = len(values) // 2
    return float(np.partition(values, middle)[middle])


def _labels(scale: Scale, num_rows: int, is_log: bool) -> dict[int, str]:
    """The labels of the vertical axis by their row."""
    if is_log:
        rows = log_tick_rows(scale, num_rows)
        return {row: log_tick_label(power) for row, power in rows.items()}
    rows = tick_rows(scale, num_rows)
    return dict(zip(rows, format_ticks(list(rows.values()), scale.step), strict=True))


def _draw(
    canvas: Canvas, chart: Chart, gathered: Sequence[Columns], scale: Scale, rules: Sequence[int]
) -> None:
    """Behind all the rules and the range of the values in each column of the first run; before
    them the lines of the means, the first run's last.
    """
    size = canvas.dot_columns, canvas.dot_rows
    y_range = scale.low, scale.high
    for row in rules:
        canvas.draw_rule(row, "faint")
    for place in reversed(range(len(gathered))):
        trace, columns = chart.traces[place], gathered[place]
        if len(columns) and (place == 0 or trace.has_band):
            canvas.draw_spans(band_spans(columns, y_range, *size), f"{trace.style}_dim")
    for place in reversed(range(len(gathered))):
        trace, columns = chart.traces[place], gathered[place]
        line = line_spans(columns, y_range, *size)
        canvas.draw_spans(dashed(line, trace.dash), trace.style)
        for column in _marker_columns(columns, trace, place):
            row = min(max(int(line.top[column]) // DOTS_HIGH, 0), canvas.rows - 1)
            canvas.draw_letter(column // DOTS_WIDE, row, trace.marker or _POINT, trace.style)
    if chart.cursor is not None:
        share = share_of(chart.cursor, chart.x_range)
        if 0 <= share <= 1:
            canvas.draw_upright(round(share * (canvas.columns - 1)), "│", "focus")
    if len(gathered) > 1 and canvas.columns >= _LEGEND_WIDTH and canvas.rows >= _LEGEND_HEIGHT:
        _draw_legend(canvas, chart.traces)


def x_at(chart: Chart, column: float, width: int) -> float:
    """The place on the axis under a cell, from the left, of a chart of `width` cells."""
    low, high = _on_its_axes(chart).x_range
    share = (column - GUTTER - 2) / max(1, width - GUTTER - 5)
    x = low + min(max(share, 0.0), 1.0) * (high - low)
    return 10.0**x if chart.is_log_x else x


def column_of(chart: Chart, x: float, width: int) -> float:
    """The cell of a chart of `width` cells under which `x` lies: `x_at` backwards."""
    low, high = _on_its_axes(chart).x_range
    x = (math.log10(x) if x > 0 else low) if chart.is_log_x else x
    return GUTTER + 2 + share_of(x, (low, high)) * max(1, width - GUTTER - 5)


def _marker_columns(columns: Columns, trace: Trace, place: int) -> list[int]:
    """The dot columns that get a letter: a lone point, and every so many of a curve with a marker,
    not where those of the other curves stand.
    """
    if len(columns) == 1:
        return [int(columns.places[0])]
    if not trace.marker:
        return []
    cells = columns.places // DOTS_WIDE
    is_first = np.diff(cells, prepend=-1) > 0
    wanted = (cells + 5 * place) % _MARKER_EVERY == _MARKER_EVERY // 2
    return [int(column) for column in columns.places[is_first & wanted]]


def _draw_legend(canvas: Canvas, traces: Sequence[Trace]) -> None:
    """A line for each run, where least is drawn."""
    label_width = min(40, max(len(trace.label) for trace in traces))
    value_width = max(len(trace.value) for trace in traces)
    width = 2 + label_width + 2 + value_width
    column, row = canvas.emptiest_corner(width, len(traces))
    for y, trace in enumerate(traces[: canvas.rows]):
        text = f" {fit(trace.label, label_width)} {fit(trace.value, value_width, '>')} "
        canvas.draw_text(column, row + y, trace.marker or "━", trace.style)
        canvas.draw_text(column + 1, row + y, text, "text")
