"""The line above a group of charts, or in its place."""

from __future__ import annotations

from ..render.formatting import counted
from ..render.lines import Line, fit, line_width
from .sections import HIDDEN, Section

_WAYS = "[ ] other groups"


def draw_heading(section: Section, width: int, has_keys: bool = False) -> Line:
    """`▾ loss  12 charts ───`; with the keys for it where they go to one of its charts."""
    style = "focus" if has_keys else "text"
    is_hidden = section.key == HIDDEN
    count = f"{section.num_charts} hidden" if is_hidden else section.title
    line: Line = [("▾ " if section.is_open else "▸ ", style), (fit_to(count, width - 4), style)]
    number = "" if is_hidden else f"  {counted(section.num_charts, 'chart')}"
    ways = _ways(section) if has_keys or is_hidden else ""
    for piece in (number, ways):
        if line_width(line) + len(piece) + 2 <= width:
            line.append((piece, "dim"))
    rule = max(0, width - line_width(line) - 1)
    return [*line, (f" {'─' * rule}", "focus" if has_keys else "faint")]


def fit_to(text: str, width: int) -> str:
    """`text` in as many cells as it takes, at most `width`."""
    return fit(text, max(0, min(len(text), width)))


def _ways(section: Section) -> str:
    if section.key == HIDDEN:
        hide = "H puts a chart back, " if section.is_open else "c opens, "
        return f"  {hide}0 shows all"
    return f"  c {'collapses' if section.is_open else 'opens'}, {_WAYS}"
