"""Lists as columns: which ones fit into a width, how wide they are, and the head and the rows as
lines.

The monitor's lists and the tables that commands print are the same columns. `Column.text` is a
plain cell; `Column.draw`, for the screen, may use colours and the width that there is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from rich.cells import cell_len

from ...shared.text.harmless import harmless
from .lines import Line, fit, fit_end, fit_line, fit_middle

Row = TypeVar("Row")
_NARROWEST = 4  # cells of a column that gives way
EXTRA = 6  # the priority from which columns are worth less than the whole of another one


class Column(NamedTuple, Generic[Row]):
    """A column: its heading, the text of a row's cell, and its width from `least` to `most` cells.

    Columns with a `priority` up to 0 are always shown, the others if there is room, the smallest
    priority first; those from `EXTRA` on leave another column the cells that it `keeps`. `align` is
    "<", ">", or "<>": left, with long texts cut in their middle. `order` is what a click on the
    heading sorts by. A printed table leaves out columns without text.
    """

    name: str
    text: Callable[[Row], str]
    least: int = 0
    most: int = 0  # `least` if smaller
    priority: int = 0
    align: str = "<"
    style: str = "text"
    order: str = ""
    draw: Callable[[Row, int], Line] | None = None
    keeps: int = 0


Fitted = list[tuple[Column[Row], int]]  # columns from left to right, with their widths


def fit_columns(columns: Sequence[Column[Row]], width: int, gap: int = 1) -> Fitted[Row]:
    """The columns that fit into `width` cells, with `gap` cells between two. Remaining room widens
    columns up to `most` in the order of their priority; if even those that are always shown are too
    wide, the one with the largest range is narrowed.
    """
    room = width + gap
    shown: list[Column[Row]] = []
    by_priority = sorted(columns, key=lambda column: column.priority)
    for column in by_priority:
        kept = sum(max(0, c.keeps - c.least) for c in shown) if column.priority >= EXTRA else 0
        if column.priority <= 0 or column.least + gap + kept <= room:
            shown.append(column)
            room -= column.least + gap
    widths = {id(column): column.least for column in shown}
    if room < 0:
        widest = max(shown, key=lambda column: max(0, column.most - column.least))
        widths[id(widest)] = max(min(_NARROWEST, widest.least), widest.least + room)
    for column in shown:
        wider = max(0, min(room, column.most - column.least))
        widths[id(column)] += wider
        room -= wider
    return [(column, widths[id(column)]) for column in columns if id(column) in widths]


def draw_head(fitted: Fitted[Row], order: tuple[str, bool] = ("", False)) -> Line:
    """The headings; the column of the order stands out, with an arrow up if it is reversed."""
    line: Line = []
    name, is_reversed = order
    ordered = next((column for column, _ in fitted if name and column.order == name), None)
    for column, cells in fitted:
        arrow = ("↑" if is_reversed else "↓") if column is ordered else ""
        text = _short(column.name, cells - len(arrow)) + arrow
        line.append((fit(text, cells, column.align[0]), "focus" if arrow else "dim"))
        line.append((" ", "dim"))
    return line


def draw_row(fitted: Fitted[Row], row: Row, is_selected: bool = False, notice: str = "") -> Line:
    """The cells of a row. A `notice` takes the place of all from the first right-aligned one on."""
    line: Line = []
    for place, (column, cells) in enumerate(fitted):
        if notice and column.align == ">":
            line.append((fit(notice, sum(width + 1 for _, width in fitted[place:])), "dim"))
            break
        if column.draw:
            line += fit_line(column.draw(row, cells), cells, "text")
        else:
            line.append((_cell(column.text(row), cells, column.align), column.style))
        line.append((" ", "text"))
    return [(text, _style(style, is_selected)) for text, style in line]


def order_at(fitted: Fitted[Row], x: int) -> str:
    """The order of the column at a cell of the head; empty if there is none."""
    for column, cells in fitted:
        if x <= cells:
            return column.order if x >= 0 else ""
        x -= cells + 1
    return ""


def table_lines(
    columns: Sequence[Column[Row]], rows: Sequence[Row], width: int | None, gap: str = "  "
) -> list[str]:
    """A table as plain text: the headings and a line for each row, in at most `width` cells where
    columns can be narrowed or left out so far; None for all of it.
    """
    cells: dict[int, list[str]] = {}
    written: list[Column[Row]] = []
    for column in columns:
        texts = [harmless(column.text(row)) for row in rows]
        if any(texts):
            longest = max(map(cell_len, (column.name, *texts)))
            can_shrink = column.most > column.least
            least = min(column.least, longest) if can_shrink else longest
            written.append(column._replace(least=least, most=longest))
            cells[id(written[-1])] = texts
    fitted = fit_columns(written, sys.maxsize if width is None else width, len(gap))
    lines = [gap.join(fit(column.name, room, column.align[0]) for column, room in fitted)]
    for place in range(len(rows)):
        texts = [_cell(cells[id(column)][place], room, column.align) for column, room in fitted]
        lines.append(gap.join(texts))
    return [line.rstrip() for line in lines]


def _style(style: str, is_selected: bool) -> str:
    """The palette's name of a style in a list; a row's "name" stands out if it is selected."""
    if style == "name":
        style = "strong" if is_selected else "text"
    return f"cursor_{style}" if is_selected else style


def _cell(text: str, width: int, align: str) -> str:
    return fit(fit_middle(text, width), width) if align == "<>" else fit(text, width, align)


def _short(name: str, width: int) -> str:
    """A heading in at most `width` cells: without its group if that helps, else its end, which is
    where the names of one table differ.
    """
    if cell_len(name) > width:
        name = re.split(r"[/.]", name)[-1]
    return fit_end(name, width)
