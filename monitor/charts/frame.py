"""The frame of a chart: name and value above, the horizontal axis below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ..look.formatting import format_ticks, format_value, log_tick_label
from ..look.lines import Line, fit, line_width
from .ticks import log_ticks, ticks

_NOTE_WIDTH = 60  # from here a chart has its note
_MARK = "▲"


def top_edge(
    title: str, value: Line, note: str, width: int, border: str, is_selected: bool
) -> Line:
    """The name at the left, the value at the right; where room is short what follows the value
    itself goes first.
    """
    room = width - 6 - line_width(value[:1])
    shown = value[:1]
    if cell_len(title) + line_width(value[1:]) <= room:
        shown = value
        room -= line_width(value[1:])
    title = fit(title, max(0, min(room, cell_len(title))))
    room -= cell_len(title)
    name: Line = [(title, "strong" if is_selected else "text")]
    if width >= _NOTE_WIDTH and cell_len(note) + 2 <= room:
        name.append((f"  {note}", "dim"))
        room -= cell_len(note) + 2
    return [("╭ ", border), *name, (f" {'─' * max(1, room + 1)}", border), *shown, (" ╮", border)]


def bottom_edge(
    width: int,
    border: str,
    x_range: tuple[float, float] = (0.0, 0.0),
    start: int = 0,
    is_log: bool = False,
    cursor: float | None = None,
    marks: Sequence[float] = (),
) -> Line:
    """The lower edge of the frame; the horizontal axis of a plot that begins at cell `start`."""
    low, high = x_range
    cells = ["─"] * (width - 2)
    styles = [border] * (width - 2)
    columns = width - start - 2
    if high > low and start:
        taken = [False] * len(cells)
        mark_cells = [
            start - 1 + round((mark - low) / (high - low) * (columns - 1))
            for mark in marks
            if low <= mark <= high
        ]
        labels = _labels(low, high, max(3, columns // 8), is_log)
        if cursor is not None and low <= cursor <= high:
            where = 10.0**cursor if is_log else cursor
            labels.insert(0, (cursor, format_value(where)))
        for number, (place, label) in enumerate(labels):
            column = start + round((place - low) / (high - low) * (columns - 1))
            begin = max(start - 1, column - (len(label) + 1) // 2)
            begin = min(begin, width - len(label) - 3) - 1
            span = slice(max(0, begin), begin + len(label) + 2)
            if begin < 0 or any(taken[span]):
                continue
            is_cursor = cursor is not None and number == 0 and place == cursor
            if not is_cursor and any(span.start <= at < span.stop for at in mark_cells):
                continue
            _put(cells, styles, begin, f" {label} ", "focus" if is_cursor else "dim")
            taken[span] = [True] * (span.stop - span.start)
        for at in mark_cells:
            if not taken[at]:
                _put(cells, styles, at, _MARK, "warning")
    return [("╰", border), *_pieces(cells, styles), ("╯", border)]


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


def _labels(low: float, high: float, at_most: int, is_log: bool) -> list[tuple[float, str]]:
    if is_log:
        powers = log_ticks(low, high, at_most).tolist()
        return [(power, log_tick_label(power)) for power in powers]
    places = ticks(low, high, at_most).tolist()
    step = places[1] - places[0] if len(places) > 1 else high
    return list(zip(places, format_ticks(places, step), strict=True))


def _put(cells: list[str], styles: list[str], begin: int, text: str, style: str) -> None:
    for i, letter in enumerate(text):
        if 0 <= begin + i < len(cells):
            cells[begin + i], styles[begin + i] = letter, style


def _pieces(cells: list[str], styles: list[str]) -> Line:
    """Cells of the same style together."""
    line: Line = []
    for letter, style in zip(cells, styles, strict=True):
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + letter, style)
        else:
            line.append((letter, style))
    return line
