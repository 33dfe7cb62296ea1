"""Scenes as dots of braille."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...shared.scene import Points, Scene, Shape
from ..look.canvas import DOTS_HIGH, DOTS_WIDE, Canvas, Integers
from .looks import look_of
from .projection import Projection, outline

DOTS_A_CHORD = 3  # of a circle
SPARSE = 3  # of the dots of what is only hinted at, every so many


def draw_scene(canvas: Canvas, scene: Scene) -> None:
    """All shapes of `scene` on `canvas`, the last in front."""
    projection = Projection.of(scene, canvas.dot_columns, canvas.dot_rows)
    texts = [shape for shape in scene.shapes if shape.kind == "text"]
    for shape in scene.shapes:
        if shape.kind != "text":
            _draw(canvas, shape, projection)
    for shape in texts:
        _write(canvas, shape, projection)


def _draw(canvas: Canvas, shape: Shape, projection: Projection) -> None:
    look, size = look_of(shape), (canvas.dot_columns, canvas.dot_rows)
    for path in paths_of(shape, projection):
        columns, rows = line_dots(path, *size)
        if look.is_hint:
            columns, rows = columns[::SPARSE], rows[::SPARSE]
        canvas.draw_dots(columns, rows, look.style)
        if shape.kind in ("area", "disc"):
            canvas.draw_dots(*inner_dots(path, *size), look.style)


def paths_of(shape: Shape, projection: Projection) -> list[Points]:
    """Where a pen goes, in dots: along a line, or around all else and back to where it began."""
    places = projection.places(shape.points)
    if shape.kind in ("circle", "disc"):
        radius = projection.length(shape.radius)
        corners = min(max(int(2 * math.pi * radius / DOTS_A_CHORD), 8), 200)
        return [outline(center, radius, corners) for center in places]
    return [np.concatenate([places, places[:1]]) if shape.kind == "area" else places]


def _write(canvas: Canvas, shape: Shape, projection: Projection) -> None:
    """A text, from the cell that its place is in; moved to the left where it would be cut."""
    column, row = (int(x) for x in np.floor(projection.places(shape.points)[0] + 0.5))
    column, row = column // DOTS_WIDE, row // DOTS_HIGH
    column = max(0, min(column, canvas.columns - len(shape.text)))
    if 0 <= row < canvas.rows:
        canvas.draw_text(column, row, shape.text, look_of(shape).style)


def line_dots(path: Points, width: int, height: int) -> tuple[Integers, Integers]:
    """Columns and rows [D] of the dots along `path` [P, 2], within `width` by `height`: a dot in
    each column or row that a segment passes, whichever are more. A row of NaN lifts the pen.
    """
    begins, ends = clipped(path[:-1], path[1:], width, height)
    steps = np.ceil(np.abs(ends - begins).max(1, initial=0)).astype(np.intp)
    counts = steps + 1
    firsts = np.cumsum(counts) - counts
    along = np.arange(counts.sum()) - np.repeat(firsts, counts)
    shares = along / np.repeat(np.maximum(steps, 1), counts)
    dots = np.repeat(begins, counts, 0) + shares[:, None] * np.repeat(ends - begins, counts, 0)
    # What ends in the middle between two dots may be rounded to the one outside.
    columns, rows = np.floor(dots + 0.5).astype(np.intp).T
    return columns.clip(0, width - 1), rows.clip(0, height - 1)


def clipped(begins: Points, ends: Points, width: int, height: int) -> tuple[Points, Points]:
    """The parts within `width` by `height` of the segments [S, 2] that have one.

    Source: Liang and Barsky 1984, doi:10.1145/357332.357333.
    """
    known = ~np.isnan(begins).any(1) & ~np.isnan(ends).any(1)
    begins, ends = begins[known], ends[known]
    ways = ends - begins
    low, high = np.full(2, -0.5), np.array([width - 0.5, height - 0.5])
    with np.errstate(all="ignore"):
        one, two = (low - begins) / ways, (high - begins) / ways
    enter, leave = np.fmin(one, two), np.fmax(one, two)
    # Along an axis that a segment does not move on it is within for ever, or never.
    still = ways == 0
    within = (begins >= low) & (begins <= high)
    enter = np.where(still, np.where(within, -np.inf, np.inf), enter).max(1).clip(min=0)
    leave = np.where(still, np.where(within, np.inf, -np.inf), leave).min(1).clip(max=1)
    seen = enter <= leave
    begins, ways, enter, leave = begins[seen], ways[seen], enter[seen], leave[seen]
    return begins + enter[:, None] * ways, begins + leave[:, None] * ways


def inner_dots(polygon: Points, width: int, height: int) -> tuple[Integers, Integers]:
    """Columns and rows [D] of the dots inside a closed `polygon` [P, 2], by the even-odd rule."""
    low = np.maximum(np.ceil(polygon.min(0)), 0).astype(np.intp)
    high = np.minimum(np.floor(polygon.max(0)) + 1, (width, height)).astype(np.intp)
    xs: Any = np.arange(low[0], max(low[0], high[0]))
    ys: Any = np.arange(low[1], max(low[1], high[1]))
    (x1, y1), (x2, y2) = polygon[:-1].T[:, :, None], polygon[1:].T[:, :, None]
    crossing = (y1 > ys) != (y2 > ys)  # [P, rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x1 + (ys - y1) / (y2 - y1) * (x2 - x1)
    right = crossing[:, :, None] & (at[:, :, None] > xs)  # [P, rows, columns]
    rows, columns = np.nonzero(right.sum(0) % 2)
    return columns + low[0], rows + low[1]
