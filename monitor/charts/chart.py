"""One chart as lines of text: curves on a canvas in a frame with the name and the value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.cells import cell_len

from ..render.canvas import DOTS_HIGH, DOTS_WIDE, Canvas, dashed
from ..render.formatting import format_ticks, log_tick_label
from ..render.lines import Line, fit, fit_middle, line_width
from .curves import NO_CURVE, Columns, Curve, band_spans, gather, line_spans
from .distributions import draw_heat
from .layers import (
    Mark,
    draw_alerts,
    draw_beyond,
    draw_legend,
    draw_reference,
    draw_selection,
)
from .ticks import Scale, log_scale, log_tick_rows, nice_scale, tick_rows
from .x_axis import cell_of, share_of
from .x_edge import XEdge, draw_x_edge
from .y_range import beyond, y_range

MIN_WIDTH, MIN_HEIGHT = 16, 4
GUTTER = 6  # cells for the labels at the left: the same in most charts, so that their axes align
_POINT = "●"
_MARKER_EVERY = 16  # cells
_MOST_SOLID = 3  # curves; dashes tell more of them apart, and look like missing data
_NOTE_WIDTH = 60  # from here a chart has its note


def top_edge(
    title: str,
    values: Sequence[Line],
    note: str,
    width: int,
    border: str,
    is_selected: bool,
    others: Sequence[str] = (),
) -> Line:
    """The name at the left, at the right the first of `values` that has room, or the last. A name
    that is too long keeps its end and what tells it apart from `others`.
    """
    room = width - 6
    fitting = (value for value in values if cell_len(title) + line_width(value) <= room)
    shown = next(fitting, values[-1])
    room -= line_width(shown)
    title = fit_middle(title, max(0, room), others)
    room -= cell_len(title)
    name: Line = [(title, "strong" if is_selected else "text")]
    if width >= _NOTE_WIDTH and cell_len(note) + 2 <= room:
        name.append((f"  {note}", "dim"))
        room -= cell_len(note) + 2
    return [("╭ ", border), *name, (f" {'─' * max(1, room + 1)}", border), *shown, (" ╮", border)]


def bottom_edge(width: int, border: str) -> Line:
    """The lower edge of a frame without an axis."""
    return [("╰" + "─" * (width - 2) + "╯", border)]


def inside_of(text: str, width: int, rows: int, border: str) -> list[Line]:
    """A frame's inside with one line of words in its middle."""
    text = fit(text, min(cell_len(text), width - 4))
    left = (width - 2 - cell_len(text)) // 2
    lines: list[Line] = []
    for row in range(rows):
        words = text if row == (rows - 1) // 2 else ""
        fill = " " * (width - 2 - left - cell_len(words))
        lines.append([("│", border), (" " * left + words + fill, "dim"), ("│", border)])
    return lines


def log_y(curve: Curve) -> Curve:
    """The positive points; a band that reaches below ends at its line."""
    keep = curve.mean > 0
    low, high = (
        np.where(side[keep] > 0, side[keep], curve.mean[keep]) for side in (curve.low, curve.high)
    )
    low, mean, high = (np.log10(side) for side in (low, curve.mean[keep], high))
    return Curve(curve.x[keep], low, mean, high, curve.breaks[keep])


def log_x(curve: Curve) -> Curve:
    """The points at positive places."""
    keep = curve.x > 0
    low, mean, high = (side[keep] for side in (curve.low, curve.mean, curve.high))
    return Curve(np.log10(curve.x[keep]), low, mean, high, curve.breaks[keep])


def log_range(curves: Sequence[Curve], x_range: tuple[float, float]) -> tuple[float, float]:
    """An axis whose powers begin where the first of `curves` does, which have powers themselves."""
    firsts = [10.0 ** float(curve.x[0]) for curve in curves if len(curve)]
    low, high = x_range
    low = max(low, min(firsts)) if firsts else low
    return (math.log10(low), math.log10(high)) if 0 < low < high else (0.0, 0.0)


def log_or_none(x: float | None) -> float | None:
    """The power of ten; None for values that have no logarithm."""
    return math.log10(x) if x is not None and x > 0 else None


@dataclass(frozen=True)
class Trace:
    """One run in a chart. `dash` and `marker` tell it apart without colour; `label` names it and
    `value` is its value in words, where there is room for a legend. The one in front has a band,
    and those of which that `has_band` is said. With a `percent` it is a quantile, drawn as heat
    together with the others.
    """

    curve: Curve = NO_CURVE
    style: str = "series0"
    dash: tuple[int, int] = (1, 0)
    marker: str = ""
    label: str = ""
    value: str = ""
    has_band: bool = False
    is_reference: bool = False
    percent: int | None = None


@dataclass(frozen=True)
class Chart:
    """The content of one chart; the first trace is the one in front. `value` is a text, `cursor`
    its place on the axis, `marks` are alerts, `selection` is the part of the axis being chosen.
    `count` says how many runs `value` averages, `interval` the range around it. `note` explains
    the chart where there is room; `others` are the names of other charts. A chart without points
    `waits_for` a metric, or `lacking` says why none will come.
    """

    title: str
    value: str
    traces: tuple[Trace, ...] = ()
    x_range: tuple[float, float] = (0.0, 0.0)
    note: str = ""
    others: tuple[str, ...] = ()
    unit: str = ""
    interval: str = ""
    count: str = ""
    x_unit: str = ""
    waits_for: str = ""
    lacking: str = ""
    is_alarming: bool = False
    is_log_x: bool = False
    is_log_y: bool = False
    is_full_y: bool = False
    is_learning_curve: bool = False
    cursor: float | None = None
    marks: tuple[Mark, ...] = ()
    selection: tuple[float, float] | None = None


def draw_chart(chart: Chart, width: int, height: int, is_selected: bool = False) -> list[Line]:
    """`chart` in a frame of `width` by `height` cells."""
    border = "focus" if is_selected else "border"
    values = _values(chart)
    top = top_edge(chart.title, values, chart.note, width, border, is_selected, chart.others)
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return [top, *([] for _ in range(height - 1))][:height]
    along = _along_its_axis(chart)
    marks = [mark for mark in along.marks if along.x_range[0] <= mark.x <= along.x_range[1]]
    num_rows = height - 2 - (bool(marks) and height > MIN_HEIGHT)
    plot = _up_its_axis(along)
    gathered = _gathered(plot, width - GUTTER - 4)
    if not any(len(columns) for columns in gathered):
        words = inside_of(_excuse(chart), width, height - 2, border)
        return [top, *words, _x_edge(plot, width, GUTTER + 2, border)]
    scale = _y_scale(gathered, chart)
    labels = _labels(scale, num_rows, chart.is_log_y)
    gutter = max(GUTTER, *(len(label) for label in labels.values()))
    canvas = Canvas(width - gutter - 4, num_rows)
    if gutter > GUTTER:
        gathered = _gathered(plot, canvas.columns)
    _draw(canvas, plot, gathered, scale, list(labels))
    _draw_words(canvas, along, gathered, scale)

    lines = [top]
    for row, line in enumerate(canvas.lines()):
        label = fit(labels.get(row, ""), gutter, ">")
        lines.append([("│", border), (f"{label} ", "dim"), *line, (" │", border)])
    if num_rows < height - 2:
        lines.append(draw_alerts(marks, along.x_range, canvas.columns, gutter, border))
    return [*lines, _x_edge(plot, width, gutter + 2, border)]


def _x_edge(plot: Chart, width: int, start: int, border: str) -> Line:
    if not any(len(trace.curve) for trace in plot.traces):
        return bottom_edge(width, border)
    cursor = () if plot.cursor is None else (plot.cursor,)
    edge = XEdge(plot.x_range, plot.x_unit, plot.is_log_x, plot.selection or cursor)
    return draw_x_edge(edge, width, start, border)


def _values(chart: Chart) -> list[Line]:
    """The value with all that belongs to it, and with less and less of that."""
    value: Line = [(f" {chart.value}", "error" if chart.is_alarming else "strong")]
    # Of how many runs it is the mean says more than its unit does, and stays longer.
    choices = ((chart.unit, chart.interval, chart.count), (chart.unit, chart.count), (chart.count,))
    texts = [", ".join(filter(None, words)) for words in choices]
    return [*([*value, (f" {text}", "dim")] for text in dict.fromkeys(texts) if text), value]


def _excuse(chart: Chart) -> str:
    """Why there is nothing to draw."""
    if any(len(trace.curve) for trace in chart.traces):
        return "nothing above 0 on a log axis" if chart.is_log_y else "nothing here"
    waiting = f"waiting for {chart.waits_for or chart.title}"
    return "no finite value yet" if chart.is_alarming else chart.lacking or waiting


def _along_its_axis(chart: Chart) -> Chart:
    """`chart` with powers of ten in place of all numbers of a logarithmic horizontal axis."""
    if not chart.is_log_x:
        return chart
    curves = [log_x(trace.curve) for trace in chart.traces]
    powers = [Mark(power, mark.level) for mark in chart.marks
              if (power := log_or_none(mark.x)) is not None]  # fmt: skip
    ends = [power for x in chart.selection or () if (power := log_or_none(x)) is not None]
    return replace(
        _with_curves(chart, curves),
        x_range=log_range(curves, chart.x_range),
        cursor=log_or_none(chart.cursor),
        marks=tuple(powers),
        selection=(ends[0], ends[1]) if len(ends) == 2 else None,
    )


def _up_its_axis(chart: Chart) -> Chart:
    """Use log10 y on a log axis."""
    if not chart.is_log_y:
        return chart
    return _with_curves(chart, [log_y(trace.curve) for trace in chart.traces])


def _with_curves(chart: Chart, curves: Sequence[Curve]) -> Chart:
    traces = [replace(t, curve=c) for t, c in zip(chart.traces, curves, strict=True)]
    return replace(chart, traces=tuple(traces))


def _gathered(chart: Chart, columns: int) -> list[Columns]:
    return [gather(trace.curve, chart.x_range, DOTS_WIDE * columns) for trace in chart.traces]


def _y_scale(gathered: Sequence[Columns], chart: Chart) -> Scale:
    low, high = y_range(gathered, chart.is_full_y, chart.is_learning_curve)
    return log_scale(low, high) if chart.is_log_y else nice_scale(low, high)


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
    """Behind all the rules, before them the curves."""
    y_range = scale.low, scale.high
    for row in rules:
        canvas.draw_rule(row, "faint")
    if chart.selection:
        draw_selection(canvas, chart.selection, chart.x_range)
    quantiles = {
        trace.percent: columns
        for trace, columns in zip(chart.traces, gathered, strict=True)
        if trace.percent is not None
    }
    cursor = None
    if chart.cursor is not None and 0 <= share_of(chart.cursor, chart.x_range) <= 1:
        cursor = cell_of(chart.cursor, chart.x_range, canvas.columns)
    if quantiles:
        draw_heat(canvas, quantiles, y_range, chart.traces[0].style, cursor)
    else:
        _draw_curves(canvas, chart, gathered, y_range)
    if cursor is not None:
        canvas.draw_upright(cursor, "│", "focus")


def _draw_curves(
    canvas: Canvas, chart: Chart, gathered: Sequence[Columns], y_range: tuple[float, float]
) -> None:
    """The range of the values in each column of the first run; before it the lines of the means,
    the first run's last.
    """
    size = canvas.dot_columns, canvas.dot_rows
    for place in reversed(range(len(gathered))):
        trace, columns = chart.traces[place], gathered[place]
        if len(columns) and (place == 0 or trace.has_band):
            canvas.draw_spans(band_spans(columns, y_range, *size), f"{trace.style}_dim")
    for place in reversed(range(len(gathered))):
        trace, columns = chart.traces[place], gathered[place]
        line = line_spans(columns, y_range, *size)
        dash = trace.dash if len(gathered) > _MOST_SOLID else (1, 0)
        canvas.draw_spans(dashed(line, dash), trace.style)
        for column in _marker_columns(columns, trace, place):
            row = min(max(int(line.top[column]) // DOTS_HIGH, 0), canvas.rows - 1)
            canvas.draw_letter(column // DOTS_WIDE, row, trace.marker or _POINT, trace.style)


def _draw_words(canvas: Canvas, chart: Chart, gathered: Sequence[Columns], scale: Scale) -> None:
    """Draw the reference's label, the legend, and how far curves go where they leave the axis.
    `chart` has the values themselves, even where the axis has powers of ten.
    """
    for trace, columns in zip(chart.traces, gathered, strict=True):
        if trace.is_reference and len(chart.traces) > 1:
            line = line_spans(columns, scale[:2], canvas.dot_columns, canvas.dot_rows)
            draw_reference(canvas, columns, line, trace.style)
    draw_legend(canvas, chart.traces)
    shown = (10.0**scale.low, 10.0**scale.high) if chart.is_log_y else (scale.low, scale.high)
    extremes = beyond([trace.curve for trace in chart.traces], chart.x_range, shown)
    draw_beyond(canvas, extremes, chart.traces, chart.x_range)


def x_at(chart: Chart, column: float, width: int) -> float:
    """The place on the axis under a cell, from the left, of a chart of `width` cells."""
    low, high = _along_its_axis(chart).x_range
    share = (column - GUTTER - 2) / max(1, width - GUTTER - 5)
    x = low + min(max(share, 0.0), 1.0) * (high - low)
    return 10.0**x if chart.is_log_x else x


def column_of(chart: Chart, x: float, width: int) -> float:
    """The cell of a chart of `width` cells under which `x` lies: `x_at` backwards."""
    low, high = _along_its_axis(chart).x_range
    power = log_or_none(x) if chart.is_log_x else x
    share = share_of(low if power is None else power, (low, high))
    return GUTTER + 2 + share * max(1, width - GUTTER - 5)


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
