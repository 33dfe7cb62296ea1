"""Scenes as dots of braille."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...shared.episodes.scene import Points, Scene, Shape
from ..render.canvas import DOTS_HIGH, DOTS_WIDE, Canvas, Integers
from .looks import look_of
from .projection import Projection, outline

DOTS_A_CHORD = 3  # of a circle
SPARSE = 3  # of the dots of what is only hinted at, every so many


def draw_scene(canvas: Canvas, scene: Scene) -> None:
    """All shapes of `scene` on `canvas`, the last in front; all at once, since each call counts."""
    projection = Projection.of(scene, canvas.dot_columns, canvas.dot_rows)
    shapes = [shape for shape in scene.shapes if shape.kind != "text"]
    looks = [look_of(shape) for shape in shapes]
    paths = [(i, path) for i, shape in enumerate(shapes) for path in paths_of(shape, projection)]
    if paths:
        columns, rows, of = lines_dots(paths, canvas.dot_columns, canvas.dot_rows)
        is_hint = np.array([look.is_hint for look in looks])
        # Counted from each shape's own first dot: the gaps stay where they are.
        since_first = np.arange(len(of)) - np.searchsorted(of, of)
        kept = ~is_hint[of] | (since_first % SPARSE == 0)
        dots = [(columns[kept], rows[kept], of[kept])]
        for i, path in paths:
            if shapes[i].kind in ("area", "disc"):
                inner = inner_dots(path, canvas.dot_columns, canvas.dot_rows)
                dots.append((*inner, np.full(len(inner[0]), i)))
        columns, rows, of = (np.concatenate(parts) for parts in zip(*dots, strict=True))
        order = np.argsort(of, kind="stable")
        styles = [look.style for look in looks]
        canvas.draw_dots(columns[order], rows[order], styles, of[order])
    for shape in scene.shapes:
        if shape.kind == "text":
            _write(canvas, shape, projection)


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


def lines_dots(
    paths: Sequence[tuple[int, Points]], width: int, height: int
) -> tuple[Integers, Integers, Integers]:
    """Columns and rows [D] of the dots along all `paths` [P, 2] within `width` by `height`, and the
    number that each path came with: a dot in each column or row that a segment passes, whichever
    are more. A row of NaN lifts the pen.
    """
    owners = np.repeat([i for i, _ in paths], [len(path) - 1 for _, path in paths])
    begins = np.concatenate([path[:-1] for _, path in paths])
    ends = np.concatenate([path[1:] for _, path in paths])
    begins, ends, owners = clipped(begins, ends, owners, width, height)
    steps = np.ceil(np.abs(ends - begins).max(1, initial=0)).astype(np.intp)
    counts = steps + 1
    firsts = np.cumsum(counts) - counts
    along = np.arange(counts.sum()) - np.repeat(firsts, counts)
    shares = along / np.repeat(np.maximum(steps, 1), counts)
    dots = np.repeat(begins, counts, 0) + shares[:, None] * np.repeat(ends - begins, counts, 0)
    # What ends in the middle between two dots may be rounded to the one outside.
    columns, rows = np.floor(dots + 0.5).astype(np.intp).T
    return columns.clip(0, width - 1), rows.clip(0, height - 1), np.repeat(owners, counts)


def clipped(
    begins: Points, ends: Points, owners: Integers, width: int, height: int
) -> tuple[Points, Points, Integers]:
    """The parts within `width` by `height` of the segments [S, 2] that have one, and their owners.

    Source: Liang and Barsky 1984, doi:10.1145/357332.357333.
    """
    known = ~np.isnan(begins + ends).any(1)
    begins, ends, owners = begins[known], ends[known], owners[known]
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
    return begins + enter[:, None] * ways, begins + leave[:, None] * ways, owners[seen]


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
