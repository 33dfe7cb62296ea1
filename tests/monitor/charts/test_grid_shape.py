"""Charts share the room out without a gap, and there are as many as fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.charts.grid_shape import grid_shape


@pytest.mark.parametrize(
    ("width", "height", "num_charts", "columns", "rows"),
    [
        (80, 14, 12, 2, 2),
        (60, 9, 12, 2, 1),
        (120, 28, 12, 3, 4),
        (200, 47, 12, 4, 3),  # balanced: five columns would leave the last row nearly empty
        (200, 47, 40, 5, 6),
        (80, 14, 1, 1, 1),
        (20, 4, 5, 1, 1),
    ],
)
def test_the_shapes_of_usual_screens(width, height, num_charts, columns, rows):
    shape = grid_shape(width, height, num_charts)
    assert (shape.columns, shape.rows) == (columns, rows)


@given(st.integers(1, 300), st.integers(1, 100), st.integers(1, 70))
def test_cells_cover_the_grid_once(width, height, num_charts):
    shape = grid_shape(width, height, num_charts)
    cells = [shape.cell(place) for place in range(shape.columns * shape.rows)]
    assert sum(cell.width * cell.height for cell in cells) == width * height
    covered = [
        (x, y) for c in cells for x in range(c.x, c.x + c.width) for y in range(c.y, c.y + c.height)
    ]
    assert len(set(covered)) == width * height
