"""Where charts and the headings of their groups stand in the grid, and which are in view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from .grid_shape import MIN_HEIGHT, Cell, grid_shape
from .sections import ALL, HIDDEN, Section

HEADING_HEIGHT = 14  # rows of a grid from which there is room for headings


class Band(NamedTuple):
    """A heading, or charts side by side: `num` places from `first` on. A heading has a place where
    its section is closed; else the number of places is 0.
    """

    first: int
    num: int
    heading: Section | None = None


class Placed(NamedTuple):
    """A band in view."""

    band: Band
    y: int
    height: int


@dataclass(frozen=True)
class GridLayout:
    """The part of all `bands` in view, from number `top` on, over `width` cells."""

    columns: int
    width: int
    bands: tuple[Band, ...]
    top: int
    placed: tuple[Placed, ...]

    @property
    def is_all(self) -> bool:
        return len(self.placed) == len(self.bands)

    def cells(self, placed: Placed) -> list[Cell]:
        """The rectangles of all columns of a row of charts."""
        edges = [self.width * i // self.columns for i in range(self.columns + 1)]
        return [Cell(x, placed.y, x_end - x, placed.height) for x, x_end in pairwise(edges)]

    def cell(self, place: int) -> Cell:
        """The rectangle of a chart; of the first in view for one that is out of it."""
        rows = [one for one in self.placed if one.band.heading is None]
        for one in rows:
            if one.band.first <= place < one.band.first + one.band.num:
                return self.cells(one)[place - one.band.first]
        return self.cells(rows[0])[0] if rows else Cell(0, 0, self.width, 0)

    def at(self, x: int, y: int) -> tuple[Section | None, int | None]:
        """The heading, or the place of the chart, under a cell of the screen."""
        for one in self.placed:
            if one.y <= y < one.y + one.height:
                if one.band.heading:
                    return one.band.heading, None
                for column, cell in enumerate(self.cells(one)):
                    if cell.x <= x < cell.x + cell.width and column < one.band.num:
                        return None, one.band.first + column
        return None, None

    def neighbour(self, place: int, columns: int, rows: int) -> int:
        """The place so far to the right of another, and below it; the nearest there is."""
        bands = [band for band in self.bands if band.num]
        num_places = bands[-1].first + bands[-1].num
        if 0 <= place + columns < num_places:
            place += columns
        at = next((i for i, band in enumerate(bands) if place < band.first + band.num), 0)
        below = at + rows
        if rows and 0 <= below < len(bands):
            column = min(place - bands[at].first, bands[below].num - 1)
            place = bands[below].first + column
        return place


def grid_layout(
    sections: Sequence[Section],
    size: tuple[int, int],
    selected: int,
    top: int = 0,
    wanted_columns: int = 0,
) -> GridLayout:
    """The charts around the place `selected`, as near to the band `top` as they may be, in `size`
    cells; one column of cells is left for a scrollbar where it is needed.
    """
    layout = _layout(sections, size, selected, top, wanted_columns)
    if not layout.is_all:
        layout = _layout(sections, (size[0] - 1, size[1]), selected, top, wanted_columns)
    return layout


def _layout(
    sections: Sequence[Section],
    size: tuple[int, int],
    selected: int,
    top: int,
    wanted_columns: int,
) -> GridLayout:
    width, height = size
    num_charts = sum(section.num_charts for section in sections if section.is_open)
    shape = grid_shape(width, height, max(1, num_charts), wanted_columns)
    has_headings = height >= HEADING_HEIGHT
    bands = _bands(sections, shape.columns, has_headings)
    is_plain = all(band.heading is None for band in bands)
    row_height = height // shape.rows - (not is_plain and has_headings)
    row_height = max(min(MIN_HEIGHT, height), row_height)
    room = _Room(bands, height, row_height, shape.rows if is_plain else height)
    top, end = room.window(selected, top)
    return GridLayout(shape.columns, width, tuple(bands), top, room.shared_out(top, end))


def _bands(sections: Sequence[Section], columns: int, has_headings: bool) -> list[Band]:
    """Without headings charts of open groups flow on from one to the next."""
    bands: list[Band] = []
    start = end = 0
    for section in sections:
        if section.is_open and not has_headings and section.key != HIDDEN:
            end = section.end
            continue
        bands += _rows(start, end, columns)
        if section.key != ALL:
            bands.append(Band(section.start, not section.is_open, section))
        if section.is_open:
            bands += _rows(section.start, section.end, columns)
        start = end = section.end
    return [*bands, *_rows(start, end, columns)]


def _rows(start: int, end: int, columns: int) -> list[Band]:
    return [Band(first, min(columns, end - first)) for first in range(start, end, columns)]


class _Room(NamedTuple):
    """`height` cells for some of `bands`, for at most `max_rows` rows of charts."""

    bands: list[Band]
    height: int
    row_height: int
    max_rows: int

    def window(self, selected: int, top: int) -> tuple[int, int]:
        """The first band in view and the one after the last: as near to `top` as `selected`
        allows, and full.
        """
        bands = self.bands
        at = next((i for i, band in enumerate(bands) if selected < band.first + band.num), 0)
        with_heading = at - (at > 0 and bands[at - 1].num == 0)
        top = min(top, with_heading)
        while top < at and not self._fits(top, at + 1):
            top += 1
        while top > 0 and self._fits(top - 1, len(bands)):
            top -= 1
        end = at + 1
        while end < len(bands) and self._fits(top, end + 1):
            end += 1
        return top, end

    def shared_out(self, top: int, end: int) -> tuple[Placed, ...]:
        """The bands from `top` to `end`, rows of charts with an equal share of the cells."""
        bands = self.bands[top:end]
        num_rows = sum(band.heading is None for band in bands)
        cells = self.height - (len(bands) - num_rows)
        placed: list[Placed] = []
        row = headings = 0
        for band in bands:
            y = headings + (cells * row // num_rows if num_rows else 0)
            if band.heading:
                headings += 1
                placed.append(Placed(band, y, 1))
            else:
                row += 1
                placed.append(Placed(band, y, headings + cells * row // num_rows - y))
        return tuple(placed)

    def _fits(self, top: int, end: int) -> bool:
        bands = self.bands[top:end]
        num_rows = sum(band.heading is None for band in bands)
        cells = num_rows * self.row_height + len(bands) - num_rows
        return num_rows <= self.max_rows and cells <= self.height
