"""Shapes are where their makers say."""

from __future__ import annotations

import math

import numpy as np

from operant.shared.episodes.scene import arrows, cross, rod, turned


def test_points_turn_to_the_left_and_then_move():
    # a quarter turn takes (1, 0) to (0, 1), and then by (10, 20)
    np.testing.assert_allclose(turned([(1, 0)], math.pi / 2, 10, 20), [[10, 21]], atol=1e-12)


def test_a_rod_has_its_width_across():
    # from (0, 0) to (0, 2), a unit wide: half a unit on either side
    corners = rod((0, 0), (0, 2), 1.0, "part").points.tolist()
    assert corners == [[-0.5, 0], [-0.5, 2], [0.5, 2], [0.5, 0]]


def test_a_cross_lifts_the_pen_between_its_bars():
    points = cross(1, 2, 3, "goal").points
    assert points[[0, 1]].tolist() == [[-2, 2], [4, 2]]
    assert np.isnan(points[2]).all()
    assert points[[3, 4]].tolist() == [[1, -1], [1, 5]]


def test_the_barbs_of_an_arrow_lie_behind_its_head_on_both_sides():
    tail, head, left, again, right, lift = arrows([(0, 0)], [(10, 0)], "current").points
    assert (tail.tolist(), head.tolist(), again.tolist()) == ([0, 0], [10, 0], [10, 0])
    assert 0 < left[0] == right[0] < 10
    assert left[1] == -right[1] > 0
    assert np.isnan(lift).all()
