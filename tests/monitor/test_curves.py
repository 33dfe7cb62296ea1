"""Curves pass where the values are, through gaps and beyond, whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from views import make_history

from operant.monitor.curves import (
    Curve,
    band_spans,
    curve_of,
    gather,
    line_spans,
    x_axis,
)
from operant.monitor.ticks import nice_scale

NAN = float("nan")


def curve(x, y) -> Curve:
    x, y = np.array(x, float), np.array(y, float)
    return Curve(x, y, y, y)


def test_the_axis_counts_env_steps_else_iterations_else_publishes():
    values = {"a": np.zeros(3)}
    with_steps = make_history(values, np.array([10, 20, 30]))
    assert x_axis(with_steps).unit == "env steps"
    assert x_axis(with_steps).values.tolist() == [10, 20, 30]
    without_steps = make_history(values)
    assert x_axis(without_steps).unit == "iterations"
    without_steps._heads[:, 5] = -1
    assert x_axis(without_steps).unit == "publishes"
    assert x_axis(without_steps).values.tolist() == [1, 2, 3]


def test_rows_without_the_metric_or_without_a_place_are_left_out():
    values = np.array([1.0, NAN, np.inf, 4.0, 5.0])
    history = make_history({"a": values}, np.array([0, 1, 2, -1, 4]))
    points = curve_of(history, "a", x_axis(history))
    assert points.x.tolist() == [0, 4]
    assert points.mean.tolist() == [1, 5]
    assert len(curve_of(history, "unknown", x_axis(history))) == 0


def test_points_are_put_in_order_when_the_axis_went_back():
    history = make_history({"a": np.array([1.0, 2.0, 3.0])}, np.array([10, 30, 20]))
    assert curve_of(history, "a", x_axis(history)).mean.tolist() == [1, 3, 2]


def test_points_that_share_a_column_become_their_mean_and_their_range():
    # Four points in columns 0, 0, 0 and 9 of ten.
    columns = gather(curve([0, 0.2, 0.4, 9], [1, 2, 6, 5]), (0.0, 9.0), 10)
    assert columns.places.tolist() == [0, 9]
    assert columns.mean.tolist() == [3, 5]
    assert columns.low.tolist() == [1, 5]
    assert columns.high.tolist() == [6, 5]


def test_points_outside_the_range_are_not_drawn():
    columns = gather(curve([0, 5, 10], [1, 2, 3]), (4.0, 6.0), 3)
    assert columns.mean.tolist() == [2]
    assert len(gather(curve([0], [1]), (4.0, 6.0), 3)) == 0


def test_a_line_is_straight_between_points_and_nowhere_else():
    columns = gather(curve([1, 3], [0, 4]), (0.0, 4.0), 5)
    line = line_spans(columns, (0.0, 4.0), 5, 5)
    drawn = line.top <= line.bottom
    assert drawn.tolist() == [False, True, True, True, False]
    assert line.top[2] <= 2 <= line.bottom[2]  # half way
    assert line.bottom[1] == 4
    assert line.top[3] == 0


def test_a_band_spans_the_lowest_to_the_highest_value():
    columns = gather(curve([0, 0, 1], [1, 3, 2]), (0.0, 1.0), 2)
    band = band_spans(columns, (0.0, 4.0), 2, 5)
    assert (band.top.tolist(), band.bottom.tolist()) == ([1, 2], [3, 2])


@given(
    arrays(float, st.integers(1, 60), elements=st.floats(-1e150, 1e150)),
    st.integers(1, 40),
    st.integers(1, 30),
)
def test_every_value_in_range_is_inside_the_canvas(y, dot_columns, dot_rows):
    points = curve(np.arange(len(y)), y)
    columns = gather(points, (0.0, float(len(y) - 1)), dot_columns)
    scale = nice_scale(y.min(), y.max())
    line = line_spans(columns, (scale.low, scale.high), dot_columns, dot_rows)
    assert (line.top <= line.bottom).any()
    assert line.bottom.max() <= dot_rows
    assert line.top.min() >= -1


def test_a_hundred_thousand_points_keep_their_mean():
    y = np.sin(np.arange(100_000))
    columns = gather(curve(np.arange(100_000), y), (0.0, 99_999.0), 100)
    assert len(columns) == 100
    assert np.abs(columns.mean).max() < 0.01
    assert columns.low.min() == pytest.approx(-1, abs=1e-3)
