"""Curves pass where the values are, through gaps and beyond, whatever the values are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from views import make_history

from operant.monitor.charts.curves import (
    Curve,
    band_spans,
    curve_of,
    difference,
    gather,
    line_spans,
    value_at,
)
from operant.monitor.charts.ticks import nice_scale, tick_rows
from operant.monitor.charts.x_axis import cell_of, x_axis
from operant.shared.rows.row_batch import NEVER_WRITTEN

NAN = float("nan")


def curve(x, y, breaks=()) -> Curve:
    x, y = np.array(x, float), np.array(y, float)
    return Curve(x, y, y, y, np.isin(np.arange(len(x)), breaks))


def points(history, name="a") -> Curve:
    axis = x_axis(history)
    return curve_of(history, name, axis.values, axis.pauses)


def test_rows_without_the_metric_or_without_a_place_are_left_out():
    values = np.array([1.0, NAN, np.inf, 4.0, 5.0])
    history = make_history({"a": values}, np.array([0, 1, 2, -1, 4]))
    assert points(history).x.tolist() == [0, 4]
    assert points(history).mean.tolist() == [1, 5]
    assert len(points(history, "unknown")) == 0


def test_points_are_put_in_order_when_the_axis_went_back():
    history = make_history({"a": np.array([1.0, 2.0, 3.0])}, np.array([10, 30, 20]))
    assert points(history).mean.tolist() == [1, 3, 2]


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
    line = line_spans(columns, (0.0, 4.0), 5, 20)  # value v in dot row 2 + 4 * (4 - v)
    drawn = line.top <= line.bottom
    assert drawn.tolist() == [False, True, True, True, False]
    assert line.top[2] <= 10 <= line.bottom[2]  # half way
    assert line.bottom[1] == 18
    assert line.top[3] == 2


def test_a_band_spans_the_lowest_to_the_highest_value():
    columns = gather(curve([0, 0, 1], [1, 3, 2]), (0.0, 1.0), 2)
    band = band_spans(columns, (0.0, 4.0), 2, 20)
    assert (band.top.tolist(), band.bottom.tolist()) == ([6, 10], [14, 10])


@given(
    arrays(float, st.integers(1, 60), elements=st.floats(-1e150, 1e150)),
    st.integers(1, 40),
    st.integers(1, 8),
)
def test_every_value_in_range_is_inside_the_canvas(y, dot_columns, rows):
    columns = gather(curve(np.arange(len(y)), y), (0.0, float(len(y) - 1)), dot_columns)
    scale = nice_scale(y.min(), y.max())
    line = line_spans(columns, (scale.low, scale.high), dot_columns, 4 * rows)
    assert (line.top <= line.bottom).any()
    assert line.bottom.max() < 4 * rows
    assert line.top.min() >= 0


ENDS = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-12)


@given(ENDS, ENDS, st.floats(0, 1), st.integers(2, 60))
def test_a_value_read_back_from_its_row_is_right_within_half_a_row(one, other, share, rows):
    scale = nice_scale(min(one, other), max(one, other))
    ends, height = (scale.low, scale.high), scale.high - scale.low

    def row_of(value):
        columns = gather(curve([0], [value]), (0.0, 0.0), 1)
        return int(line_spans(columns, ends, 1, 4 * rows).top[0]) // 4

    value = scale.low + share * height
    read = scale.high - row_of(value) / (rows - 1) * height
    assert abs(read - value) <= height / (rows - 1) * (0.5 + 1e-6)
    for row, tick in tick_rows(scale, rows).items():
        assert row_of(tick) == row  # the curve of a constant lies on its tick's line


@given(st.floats(0, 1), st.integers(1, 200))
def test_a_cursor_stands_in_the_column_of_its_point(share, columns):
    place = gather(curve([share], [0]), (0.0, 1.0), 2 * columns).places[0]
    assert cell_of(share, (0.0, 1.0), columns) == place // 2


def test_a_line_breaks_at_nan_and_passes_over_what_was_not_written():
    column = [1.0, NEVER_WRITTEN, 2.0, NAN, 3.0, np.inf, NAN, 4.0, 5.0]
    history = make_history({"a": np.array(column)})
    assert points(history).mean.tolist() == [1, 2, 3, 4, 5]
    assert points(history).breaks.tolist() == [False, False, True, True, False]


def test_nothing_is_drawn_inside_a_break():
    columns = gather(curve([0, 2, 6, 8], [0, 0, 4, 4], breaks=[2]), (0.0, 8.0), 9)
    line = line_spans(columns, (0.0, 4.0), 9, 20)
    drawn = line.top <= line.bottom
    assert drawn.tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert line.top[2] == 18  # it does not reach for the point behind the break
    assert line.bottom[6] == 2


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.booleans()), min_size=1, max_size=40),
    st.integers(2, 60),
)
def test_a_break_takes_dots_away_but_never_those_of_a_point(points, dot_columns):
    y, breaks = zip(*points, strict=True)
    x, x_range = np.arange(len(y)), (0.0, float(len(y)))
    drawn = {}
    for name, places in (("broken", np.flatnonzero(breaks)), ("whole", ())):
        columns = gather(curve(x, y, places), x_range, dot_columns)
        line = line_spans(columns, (-10.0, 10.0), dot_columns, 8)
        drawn[name] = line.top <= line.bottom
        assert drawn[name][columns.places].all()
    assert (drawn["broken"] <= drawn["whole"]).all()


def test_the_value_at_a_place_is_that_of_the_point_before_it_unless_a_gap_follows():
    line = curve([10, 20, 30], [1, 2, 3], breaks=[2])
    assert [value_at(line, x) for x in (5, 10, 15, 20, 25, 30, 99)] == [None, 1, 1, 2, None, 3, 3]


def test_a_difference_is_taken_where_both_are_and_straight_between_points():
    line, reference = curve([0, 5, 10, 20], [1, 1, 1, 1]), curve([5, 15], [0, 10])
    less = difference(line, reference)
    assert less.x.tolist() == [5, 10]
    assert less.mean.tolist() == [1, -4]
    assert len(difference(line, curve([], []))) == 0
