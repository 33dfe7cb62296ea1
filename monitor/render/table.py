"""Tables whose cells are texts: sorted by a column, and as lines of columns that fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from ...shared.text.harmless import one_line
from .lines import Line, fit

WIDEST = 40  # cells of a column
_GAP = "  "


class Table(NamedTuple):
    """Cells as they were written: rows may be shorter or longer than the row of the columns. Not
    `is_whole` where further rows were left out.
    """

    columns: list[str]
    rows: list[list[str]]
    is_whole: bool = True


def order_of(table: Table, sorted_by: tuple[int, bool] | None) -> list[int]:
    """The places of the rows: as they were written, or by a column, falling or not. Numbers come
    before texts, and rows without a cell there last.
    """
    places = list(range(len(table.rows)))
    if sorted_by is None:
        return places
    column, is_falling = sorted_by
    cells = [row[column] if column < len(row) else "" for row in table.rows]
    numbers = [_number(cell) for cell in cells]
    known = [place for place in places if numbers[place] is not None]
    texts = [place for place in places if numbers[place] is None and cells[place]]
    known.sort(key=lambda place: numbers[place] or 0.0, reverse=is_falling)
    texts.sort(key=lambda place: cells[place], reverse=is_falling)
    return [*known, *texts, *(place for place in places if not cells[place])]


def table_lines(
    table: Table, places: Sequence[int], sorted_by: tuple[int, bool] | None, width: int, height: int
) -> list[Line]:
    """The names of the columns and, below, the rows at `places`. Where not all columns fit, the one
    that the table is sorted by is among them.
    """
    rows = [table.rows[place] for place in places[: height - 1]]
    columns = [_shown(table, rows, column, sorted_by) for column in range(len(table.columns))]
    widths = [min(WIDEST, max(map(cell_len, column))) + len(_GAP) for column in columns]
    first = 0
    while sorted_by and first < sorted_by[0] and sum(widths[first : sorted_by[0] + 1]) > width:
        first += 1
    lines: list[Line] = [[] for _ in range(len(rows) + 1)]
    for column in range(first, len(columns)):
        room = min(widths[column], width)
        if room <= len(_GAP):
            break
        width -= room
        is_number = all(_number(cell) is not None for cell in columns[column][1:] if cell)
        for y, (line, cell) in enumerate(zip(lines, columns[column], strict=True)):
            style = "dim" if y == 0 else "text"
            if sorted_by and column == sorted_by[0]:
                style = "strong"
            text = fit(cell, room - len(_GAP), ">" if is_number else "<")
            line.append((text + _GAP, style))
    return lines


def _shown(
    table: Table, rows: Sequence[Sequence[str]], column: int, sorted_by: tuple[int, bool] | None
) -> list[str]:
    """The name of the column, and its cells."""
    name = one_line(table.columns[column], WIDEST)
    if sorted_by and sorted_by[0] == column:
        name += " ▼" if sorted_by[1] else " ▲"
    return [name, *(one_line(row[column], WIDEST) if column < len(row) else "" for row in rows)]


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if not math.isnan(number) else None
