"""Tables of text: columns that are aligned, and give way where a terminal is narrow."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click
from rich.cells import cell_len

from ...monitor.render.lines import fit, fit_middle
from ...shared.text.harmless import harmless

GAP = "  "


@dataclass(frozen=True)
class Column:
    """Cells under a heading. If the table is too wide, columns with a `least` are narrowed down to
    that width, in the middle of their texts if those differ at their ends. Then columns are left
    out, those with the highest `goes_at` first; 0: never.
    """

    name: str
    cells: Sequence[str]
    align: str = "<"
    least: int = 0
    differs_at_ends: bool = False
    goes_at: int = 0

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.name, *self.cells))

    def texts(self, width: int) -> list[str]:
        cells = [fit_middle(text, width) if self.differs_at_ends else text for text in self.cells]
        return [fit(text, width, self.align) for text in (self.name, *cells)]


def table_lines(columns: Sequence[Column], width: int | None) -> list[str]:
    """A line of names and a line for each row, in at most `width` cells where columns can be
    narrowed or left out so far; None for all of it. Columns without any text are left out.
    """
    columns = [
        replace(column, cells=[harmless(text) for text in column.cells])
        for column in columns
        if any(column.cells)
    ]
    widths = _widths(columns, width)
    while width is not None and _total(widths) > width:
        last = max(columns, key=lambda column: column.goes_at)
        if not last.goes_at:
            break
        columns.remove(last)
        widths = _widths(columns, width)
    texts = [column.texts(cells) for column, cells in zip(columns, widths, strict=True)]
    return [GAP.join(line).rstrip() for line in zip(*texts, strict=True)]


def print_table(columns: Sequence[Column]) -> None:
    """Print a table that is as wide as the terminal. Into a file or a pipe, nothing is cut."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in table_lines(columns, width):
        click.echo(harmless(line))


def _widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """The last columns give way first."""
    widths = [column.width for column in columns]
    for index in reversed(range(len(columns))):
        column = columns[index]
        too_wide = _total(widths) - width if width is not None else 0
        if column.least and too_wide > 0:
            widths[index] = max(min(column.least, widths[index]), widths[index] - too_wide)
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * max(0, len(widths) - 1)
