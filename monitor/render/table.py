"""Tables whose cells are texts, as a run logged them: sorted by a column, and as lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rich.cells import cell_len

from ...shared.text.harmless import one_line
from .columns import Column, draw_head, draw_row, fit_columns
from .lines import Line, fit_line

WIDEST = 40  # cells of a column


class Table(NamedTuple):
    """Cells as they were written: rows may be shorter or longer than the row of the columns. If
    not `is_whole`, further rows were left out.
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


def draw_table(
    table: Table, places: Sequence[int], sorted_by: tuple[int, bool] | None, width: int
) -> list[Line]:
    """The names of the columns and, below, the rows at `places`. If not all columns fit, the one
    that the table is sorted by is shown, or else the first.
    """
    rows = [table.rows[place] for place in places]
    first, is_falling = sorted_by or (0, False)
    columns = []
    for place, name in enumerate(table.columns):
        cells = [_text(row, place) for row in rows]
        is_sorted = sorted_by is not None and place == first
        longest = max(map(cell_len, (name, *cells))) + is_sorted
        columns.append(
            Column(
                one_line(name, WIDEST),
                partial(_text, place=place),
                min(WIDEST, longest),
                priority=0 if place == first else place + 1,
                align=">" if all(_number(cell) is not None for cell in cells if cell) else "<",
                style="strong" if is_sorted else "text",
                order=str(place),
            )
        )
    fitted = fit_columns(columns, width)
    head = draw_head(fitted, (str(first) if sorted_by else "", not is_falling))
    return [fit_line(line, width, "text") for line in
            (head, *(draw_row(fitted, row) for row in rows))]  # fmt: skip


def _text(row: Sequence[str], place: int) -> str:
    """A cell on one line; empty if the row is shorter."""
    return one_line(row[place], WIDEST) if place < len(row) else ""


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if not math.isnan(number) else None
