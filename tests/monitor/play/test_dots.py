"""Worlds on a canvas: everything where it belongs, nothing outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import texts

from operant.monitor.play.dots import draw_scene, inner_dots, lines_dots
from operant.monitor.play.projection import Projection
from operant.monitor.render.canvas import Canvas
from operant.shared.episodes.scene import ROLES, Scene, area, circle, disc, line, text

far = st.floats(-1e6, 1e6)
near = st.floats(-30, 130)
sizes = st.integers(2, 60)


def dots_of(path, width, height):
    columns, rows, _ = lines_dots([(0, np.array(path, float))], width, height)
    return set(zip(columns.tolist(), rows.tolist(), strict=True))


@given(sizes, sizes, st.lists(st.tuples(far, far), min_size=2, max_size=6))
def test_no_dot_of_a_line_is_outside(width, height, path):
    assert all(0 <= x < width and 0 <= y < height for x, y in dots_of(path, width, height))


@given(st.tuples(st.integers(0, 39), st.integers(0, 39)),
       st.tuples(st.integers(0, 39), st.integers(0, 39)))  # fmt: skip
def test_a_line_joins_its_ends_without_a_gap(begin, end):
    dots = dots_of([begin, end], 40, 40)
    assert {begin, end} <= dots
    # as many dots as the longer side has, so that neighbours touch
    assert len(dots) == max(abs(begin[0] - end[0]), abs(begin[1] - end[1])) + 1


@given(st.tuples(near, near), st.tuples(near, near))
def test_clipping_changes_nothing_of_what_is_seen(begin, end):
    room = 200  # the same path, moved to where nothing of it is cut
    whole = dots_of(np.add([begin, end], 50), room, room)
    wanted = {(x - 50, y - 50) for x, y in whole if 50 <= x < 150 and 50 <= y < 150}
    found = dots_of([begin, end], 100, 100)
    # where a line leaves, a dot may be rounded to the neighbour
    beside = {(x + dx, y + dy) for x, y in wanted for dx in (-1, 0, 1) for dy in (-1, 0, 1)}
    assert found <= beside
    assert abs(len(found) - len(wanted)) <= 2


def test_a_nan_lifts_the_pen():
    gap = [np.nan, np.nan]
    assert dots_of([[0, 0], [1, 0], gap, [5, 0], [6, 0]], 10, 10) == {
        (0, 0),
        (1, 0),
        (5, 0),
        (6, 0),
    }


def test_the_inside_of_a_square():
    columns, rows = inner_dots(np.array([[1, 1], [4, 1], [4, 3], [1, 3], [1, 1]]) + 0.5, 10, 10)
    # from 1.5 to 4.5 across and 1.5 to 3.5 down: 3 x 2 dots
    assert sorted(zip(columns.tolist(), rows.tolist(), strict=True)) == [
        (2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3),
    ]  # fmt: skip


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.1, 100), st.floats(0.1, 100), sizes,
       sizes, st.booleans())  # fmt: skip
def test_the_corners_of_a_world_are_within_its_screen(x, y, across, up, width, height, stretched):
    scene = Scene((x, y), (x + across, y + up), (), is_stretched=stretched)
    projection = Projection.of(scene, width, height)
    (left, below), (right, above) = projection.places(np.array([scene.low, scene.high]))
    room = 1e-6 * (1 + abs(x) + abs(y)) * max(projection.scale)
    assert -room <= left <= right <= width - 1 + room
    assert -room <= above <= below <= height - 1 + room
    # one side at least fills the screen, and both where the scene may be stretched
    fills = (right - left >= width - 1 - room, below - above >= height - 1 - room)
    assert all(fills) if stretched else any(fills)


def test_up_is_up_and_texts_are_in_front():
    canvas = Canvas(4, 2)
    below = area([(0, 0), (8, 0), (8, 3), (0, 3)], "body")
    draw_scene(canvas, Scene((0, 0), (7, 7), (text(0, 0, "c"), below)))
    # 8 x 8 dots: the lower half is full but for the letter, the upper one empty
    assert texts(canvas.lines()) == ["    ", "c⣿⣿⣿"]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("agent", [-1, 0, 99])
def test_every_role_is_drawn(role, agent):
    canvas = Canvas(10, 5)
    shapes = (
        line([(0, 0), (9, 9)], role, agent), circle((5, 5), 3, role, agent),
        disc((5, 5), 1, role, agent), text(99, 9, "edge", role, agent),
    )  # fmt: skip
    draw_scene(canvas, Scene((0, 0), (10, 10), shapes))
    shown = texts(canvas.lines())
    assert any("edge" in row for row in shown)  # moved in from the right
    assert any(0x2800 < ord(letter) < 0x2900 for row in shown for letter in row)


def test_dots_of_two_shapes_share_a_cell():
    canvas = Canvas(1, 1)
    canvas.draw_dots(
        np.array([0, 9, 1, -1]), np.array([0, 0, 3, 0]), ["a", "b"], np.array([0, 0, 1, 1])
    )
    # the first and the last dot; those outside are nowhere
    assert canvas.lines() == [[("⢁", "b")]]
