"""Draw alerts, a selection, labels and a legend on a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..render.canvas import DOTS_HIGH, DOTS_WIDE, Canvas, Spans
from ..render.formatting import format_value
from ..render.lines import Line, fit, fit_middle
from .curves import Columns
from .x_axis import cell_of
from .y_range import Beyond

if TYPE_CHECKING:
    from .chart import Trace

_LEGEND_WIDTH, _LEGEND_HEIGHT = 60, 12  # from here a chart names its curves
_LONGEST_LABEL = 40
_ALERTS = "alerts"
ALERT = "!"
_REFERENCE = "ref"
_WORDS_WIDTH = 20  # cells of a plot from which `max` stands before the value
_ABOVE, _BELOW = "↑", "↓"


class Mark(NamedTuple):
    """A place on the axis where there was an alert, and how bad: "warning" or "error"."""

    x: float
    level: str = "warning"


def draw_alerts(
    marks: Sequence[Mark], x_range: tuple[float, float], columns: int, gutter: int, border: str
) -> Line:
    """The row of a frame that has the alerts."""
    cells: dict[int, str] = {}
    for mark in sorted(marks, key=lambda mark: mark.level == "error"):
        cells[cell_of(mark.x, x_range, columns)] = mark.level
    line: Line = [("│", border), (f"{fit(_ALERTS, gutter, '>')} ", "dim")]
    end = 0
    for column, level in sorted(cells.items()):
        line += [(" " * (column - end), "text"), (ALERT, level)]
        end = column + 1
    return [*line, (" " * (columns - end), "text"), (" │", border)]


def draw_selection(
    canvas: Canvas, selection: tuple[float, float], x_range: tuple[float, float]
) -> None:
    """Shade the selected part behind the curves, between two upright lines."""
    first, last = sorted(cell_of(x, x_range, canvas.columns) for x in selection)
    for column in {first, last}:
        if 0 <= column < canvas.columns:
            canvas.draw_upright(column, "│", "focus")
    canvas.shade(first, last + 1, "░", "dim")


def draw_beyond(
    canvas: Canvas,
    extremes: Sequence[Beyond],
    traces: Sequence[Trace],
    x_range: tuple[float, float],
) -> None:
    """At the edge that a curve leaves through, how far it went: `↑ max 250.0k`."""
    for extreme in extremes:
        arrow, word = (_ABOVE, "max") if extreme.is_above else (_BELOW, "min")
        value = format_value(extreme.value)
        text = f"{word} {value}" if canvas.columns >= _WORDS_WIDTH else value
        row = 0 if extreme.is_above else canvas.rows - 1
        column = cell_of(extreme.x, x_range, canvas.columns)
        has_room = column + len(text) + 2 <= canvas.columns
        canvas.draw_text(
            column + 2 if has_room else max(0, column - 1 - len(text)), row, text, "strong"
        )
        canvas.draw_letter(min(column, canvas.columns - 1), row, arrow, traces[extreme.place].style)


def draw_reference(canvas: Canvas, columns: Columns, line: Spans, style: str) -> None:
    """A word beside the curve of the reference, as near to its newest end as nothing else is."""
    if not len(columns):
        return
    first, last = (int(place) // DOTS_WIDE for place in columns.places[[0, -1]])
    for end in range(last, first - 1, -1):
        row = min(max(int(line.top[end * DOTS_WIDE]) // DOTS_HIGH, 0), canvas.rows - 1)
        column = max(0, end + 1 - len(_REFERENCE))
        for at in (row - 1, row + 1):
            if 0 <= at < canvas.rows and canvas.is_free(column, at, len(_REFERENCE)):
                canvas.draw_text(column, at, _REFERENCE, style)
                return


def draw_legend(canvas: Canvas, traces: Sequence[Trace]) -> None:
    """A line for each run where there is room for it, where least is drawn."""
    if len(traces) < 2 or canvas.columns < _LEGEND_WIDTH or canvas.rows < _LEGEND_HEIGHT:
        return
    label_width = min(_LONGEST_LABEL, max(len(trace.label) for trace in traces))
    value_width = max(len(trace.value) for trace in traces)
    width = 2 + label_width + 2 + value_width
    shown = traces if len(traces) <= canvas.rows else traces[: canvas.rows - 1]
    column, row = canvas.emptiest_corner(width, len(shown) + (len(shown) < len(traces)))
    for y, trace in enumerate(shown):
        label = fit(fit_middle(trace.label, label_width), label_width)
        text = f" {label} {fit(trace.value, value_width, '>')} "
        canvas.draw_text(column, row + y, trace.marker or "━", trace.style)
        canvas.draw_text(column + 1, row + y, text, "text")
    if len(shown) < len(traces):
        more = fit(f"  {len(traces) - len(shown)} more", width)
        canvas.draw_text(column, row + len(shown), more, "dim")
