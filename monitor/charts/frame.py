"""The frame of a chart: name and value above, and words where there is no curve."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ..look.lines import Line, fit, fit_middle, line_width

_NOTE_WIDTH = 60  # from here a chart has its note


def top_edge(
    title: str, values: Sequence[Line], note: str, width: int, border: str, is_selected: bool
) -> Line:
    """The name at the left, at the right the first of `values` that has room, or the last. A name
    that is too long keeps its end, which tells most of them apart.
    """
    room = width - 6
    fitting = (value for value in values if cell_len(title) + line_width(value) <= room)
    shown = next(fitting, values[-1])
    room -= line_width(shown)
    title = fit_middle(title, max(0, room))
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
