"""One chart as lines of text: a frame with the name and the value, a curve, two axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len

from .canvas import DOTS_HIGH, DOTS_WIDE, Canvas
from .curves import NO_CURVE, Columns, Curve, band_spans, gather, line_spans
from .formatting import format_ticks
from .lines import Line, fit, line_width
from .ticks import Floats, Scale, nice_scale, tick_rows, ticks

MIN_WIDTH, MIN_HEIGHT = 16, 4
GUTTER = 6  # cells for the labels at the left: the same in most charts, so that their axes align
_NOTE_WIDTH = 60  # from here a chart has its note
_POINT = "●"


@dataclass(frozen=True)
class Chart:
    """What one chart shows. `curve` is its line, `value` the last one in words; `note` explains it
    where there is room.
    """

    title: str
    value: str
    curve: Curve = NO_CURVE
    x_range: tuple[float, float] = (0.0, 0.0)
    note: str = ""
    style: str = "series0"
    unit: str = ""
    is_alarming: bool = False


def draw_chart(chart: Chart, width: int, height: int, is_selected: bool = False) -> list[Line]:
    """`chart` in a frame of `width` by `height` cells."""
    border = "focus" if is_selected else "border"
    top = _top_edge(chart, width, border, is_selected)
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return [top, *([] for _ in range(height - 1))][:height]
    columns = gather(chart.curve, chart.x_range, DOTS_WIDE * (width - GUTTER - 4))
    if not len(columns):
        return [top, *_waiting(chart, width, height - 2, border), _bottom_edge(width, border)]
    scale = _y_scale(columns)
    rows = tick_rows(scale, height - 2)
    labels = dict(zip(rows, format_ticks(list(rows.values()), scale.step), strict=True))
    gutter = max(GUTTER, *(len(label) for label in labels.values()))
    canvas = Canvas(width - gutter - 4, height - 2)
    if gutter > GUTTER:
        columns = gather(chart.curve, chart.x_range, canvas.dot_columns)
    for row in rows:
        canvas.draw_rule(row, "┈", "faint")
    _draw_curve(canvas, columns, scale, chart.style)

    lines = [top]
    for row, line in enumerate(canvas.lines()):
        label = fit(labels.get(row, ""), gutter, ">")
        lines.append([("│", border), (f"{label} ", "dim"), *line, (" │", border)])
    return [*lines, _bottom_edge(width, border, chart, gutter + 2)]


def _top_edge(chart: Chart, width: int, border: str, is_selected: bool) -> Line:
    """The name at the left, the value at the right; where room is short the unit goes first."""
    value: Line = [(f" {chart.value}", "error" if chart.is_alarming else "strong")]
    unit: Line = [(f" {chart.unit}", "dim")] if chart.unit else []
    room = width - 6 - line_width(value)
    if cell_len(chart.title) + line_width(unit) <= room:
        value += unit
        room -= line_width(unit)
    title = fit(chart.title, max(0, min(room, cell_len(chart.title))))
    room -= cell_len(title)
    name: Line = [(title, "strong" if is_selected else "text")]
    if width >= _NOTE_WIDTH and cell_len(chart.note) + 2 <= room:
        name.append((f"  {chart.note}", "dim"))
        room -= cell_len(chart.note) + 2
    return [("╭ ", border), *name, (f" {'─' * max(1, room + 1)}", border), *value, (" ╮", border)]


def _bottom_edge(width: int, border: str, chart: Chart | None = None, start: int = 0) -> Line:
    """The lower edge of the frame; it is the horizontal axis of a plot that begins at `start`."""
    edge: Line = [("╰", border)]
    at = 1
    if chart:
        low, high = chart.x_range
        columns = width - start - 2
        places = ticks(low, high, max(3, columns // 8)).tolist()
        labels = format_ticks(places, places[1] - places[0] if len(places) > 1 else high)
        for place, label in zip(places, labels, strict=True):
            column = start + round((place - low) / (high - low) * (columns - 1))
            begin = max(start - 1, column - (len(label) + 1) // 2)
            begin = min(begin, width - len(label) - 3)
            if begin > at:
                edge += [("─" * (begin - at), border), (f" {label} ", "dim")]
                at = begin + len(label) + 2
    return [*edge, ("─" * max(0, width - 1 - at) + "╯", border)]


def _waiting(chart: Chart, width: int, rows: int, border: str) -> list[Line]:
    """The inside of a chart without a point."""
    text = f"waiting for {chart.title}" if not chart.is_alarming else "no finite value yet"
    text = fit(text, min(len(text), width - 4))
    left = (width - 2 - len(text)) // 2
    lines: list[Line] = []
    for row in range(rows):
        words = text if row == (rows - 1) // 2 else ""
        lines.append([("│", border), ((" " * left + words).ljust(width - 2), "dim"), ("│", border)])
    return lines


def _y_scale(columns: Columns) -> Scale:
    """Room for the whole line and for the usual spread around it, on both sides alike: spikes,
    which go to one side, leave the chart rather than flatten it. No room beyond any value.
    """
    below = _median(columns.mean - columns.low)
    above = _median(columns.high - columns.mean)
    low = max(columns.mean.min() - min(below, 2 * above), columns.low.min())
    high = min(columns.mean.max() + min(above, 2 * below), columns.high.max())
    return nice_scale(float(low), float(high))


def _median(values: Floats) -> float:
    """Any middle value: `numpy.median` takes several times as long for a few hundred."""
    middle = len(values) // 2
    return float(np.partition(values, middle)[middle])


def _draw_curve(canvas: Canvas, columns: Columns, scale: Scale, style: str) -> None:
    """The range of the values in each column, dim, and over it the line of their means."""
    size = canvas.dot_columns, canvas.dot_rows
    line = line_spans(columns, (scale.low, scale.high), *size)
    canvas.draw_spans(band_spans(columns, (scale.low, scale.high), *size), f"{style}_dim")
    canvas.draw_spans(line, style)
    if len(columns) == 1:
        column = int(columns.places[0])
        canvas.draw_letter(column // 2, int(line.top[column]) // DOTS_HIGH, _POINT, style)
