"""How many charts stand side by side and above each other, and where each of them lies."""

from __future__ import annotations

from typing import NamedTuple

_WIDTH, _HEIGHT = 40, 8  # cells of a chart that is easy to read
MIN_WIDTH, MIN_HEIGHT = 18, 5


class Cell(NamedTuple):
    """A rectangle of the grid, in cells of the screen."""

    x: int
    y: int
    width: int
    height: int


class GridShape(NamedTuple):
    """A grid of `columns` by `rows` charts over `width` by `height` cells."""

    columns: int
    rows: int
    width: int
    height: int

    def cell(self, place: int) -> Cell:
        """The rectangle of the chart at `place`, counted along the rows; the room is shared out."""
        row, column = divmod(place, self.columns)
        x, x_end = (self.width * i // self.columns for i in (column, column + 1))
        y, y_end = (self.height * i // self.rows for i in (row, row + 1))
        return Cell(x, y, x_end - x, y_end - y)


def most_columns(width: int) -> int:
    """Beyond which charts have no room for a curve."""
    return max(1, width // MIN_WIDTH)


def grid_shape(width: int, height: int, num_charts: int, wanted_columns: int = 0) -> GridShape:
    """The shape that shows most charts at a good size, and no more places than there are charts;
    with the columns that are wanted, if any, as far as they have room.
    """
    columns = max(1, min(int(width / _WIDTH + 0.55), num_charts))
    if wanted_columns:
        columns = min(wanted_columns, most_columns(width), num_charts)
    rows = max(1, min(int(height / _HEIGHT + 0.5), height // MIN_HEIGHT))
    rows = min(rows, -(-num_charts // columns)) or 1
    if not wanted_columns:
        columns = min(columns, -(-num_charts // rows)) or 1
    return GridShape(columns, rows, width, height)
