"""The horizontal axis: what it counts, and what part of it is shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import make_history

from operant.monitor.charts.x_axis import XAxis, XWindow, whole_range, window_between, x_axis
from operant.shared.rows.row_batch import ELAPSED_NS, ITERATION, WALL_NS

WHOLE = (0.0, 1000.0)


def test_the_axis_counts_what_is_asked_for_else_iterations_else_publishes():
    values = {"a": np.zeros(3)}
    with_steps = make_history(values, np.array([10, 20, 30]))
    assert x_axis(with_steps).unit == "env steps"
    assert x_axis(with_steps).values.tolist() == [10, 20, 30]
    assert x_axis(with_steps, "iterations").values.tolist() == [1, 2, 3]
    without_steps = make_history(values)
    assert x_axis(without_steps).unit == "iterations"
    without_steps.heads[ITERATION] = -1
    assert x_axis(without_steps).unit == "publishes"
    assert x_axis(without_steps).values.tolist() == [1, 2, 3]


def at_seconds(*seconds: float):
    history = make_history({"a": np.zeros(len(seconds))})
    history.heads[WALL_NS] = np.array(seconds) * 1e9 + 1.7e18
    return history


def test_wall_time_is_in_the_unit_that_fits_the_longest_run():
    short, long = at_seconds(0, 60), at_seconds(0, 7200 * 2)
    assert x_axis(short, "wall time").unit == "seconds"
    assert x_axis(long, "wall time").unit == "hours"
    together = x_axis(short, "wall time", long)
    assert (together.unit, together.values[-1]) == ("hours", pytest.approx(1 / 60))


def test_wall_time_shows_the_pause_between_two_processes_of_a_run():
    axis = x_axis(at_seconds(0, 1, 2, 3, 900, 901, 902), "wall time")
    assert np.flatnonzero(axis.pauses).tolist() == [4]


def test_training_time_leaves_the_pause_out_and_says_so():
    history = at_seconds(0, 1, 2, 3, 900, 901, 902)
    history.heads[ELAPSED_NS] = np.arange(7) * 1e9  # a page counts on where the one before it ended
    axis = x_axis(history, "training time")
    assert (axis.unit, axis.values.tolist()) == ("seconds trained", [0, 1, 2, 3, 4, 5, 6])
    places, pauses = axis.places_of(history.since(3))
    assert places.tolist() == [3, 4, 5, 6]
    assert pauses is None


def test_rows_of_a_coarser_level_are_no_pause():
    axis = x_axis(at_seconds(0, 64, 128, 192, 200, 208, 209, 210), "wall time")
    assert not axis.pauses.any()


def test_a_clock_that_went_back_gives_way_to_the_time_of_training():
    axis = x_axis(at_seconds(0, 100, 50, 60), "wall time")
    assert axis.values.tolist() == pytest.approx([0, 0.1, 0.2, 0.3])


def test_the_axis_spans_the_runs_from_zero_with_room_ahead_while_one_lives():
    x = XAxis("env steps", np.array([2048.0, 1_000_500.0]))
    assert whole_range([x], is_alive=False) == (0.0, 1_000_500.0)
    assert whole_range([x], is_alive=True) == (0.0, 1_050_000.0)
    assert whole_range([XAxis("env steps", np.array([900.0, 1000.0]))], False) == (900.0, 1000.0)
    assert whole_range([XAxis("env steps", np.array([-1.0]))], True) == (0.0, 0.0)
    longer = XAxis("env steps", np.array([5.0, 2_000_000.0]))
    assert whole_range([x, longer], False) == (0.0, 2_000_000.0)


def test_all_is_shown_at_first_and_zooming_at_the_newest_end_follows_it():
    assert XWindow().shown(WHOLE) == WHOLE
    window = XWindow().zoomed(WHOLE, 0.5, about=1.0)
    assert window.shown(WHOLE) == (500, 1000)
    assert window.shown((0.0, 2000.0)) == (1500, 2000)  # the run went on


def test_zooming_around_a_place_keeps_it_in_place():
    window = XWindow().zoomed(WHOLE, 0.5, about=0.25)
    assert window.shown(WHOLE) == (125, 625)
    assert window.shown((0.0, 2000.0)) == (125, 625)  # a part of the past stands still


def test_moving_to_the_newest_end_follows_it_again():
    window = window_between(100, 300, WHOLE)
    assert window.panned(WHOLE, 0.5).shown(WHOLE) == (200, 400)
    assert window.panned(WHOLE, 9.0).shown((0.0, 5000.0)) == (4800, 5000)
    assert window.panned(WHOLE, -9.0).shown(WHOLE) == (0, 200)


def test_a_part_of_no_width_is_all_of_it():
    assert window_between(5, 5, WHOLE) == XWindow()


steps = st.lists(
    st.one_of(
        st.tuples(st.just("zoom"), st.floats(0.1, 10), st.floats(0, 1)),
        st.tuples(st.just("pan"), st.floats(-2, 2), st.just(0.0)),
    ),
    max_size=20,
)


@given(steps, st.floats(1, 1e12))
def test_what_is_shown_always_lies_in_the_whole_and_is_never_empty(steps, end):
    whole, window = (0.0, end), XWindow()
    for what, amount, about in steps:
        if what == "zoom":
            window = window.zoomed(whole, amount, about)
        else:
            window = window.panned(whole, amount)
        low, high = window.shown(whole)
        assert low < high
        assert low >= -1e-9 * end
        assert high <= end * (1 + 1e-9)


@given(st.floats(0.2, 1), st.floats(0.05, 0.95))
def test_zooming_out_undoes_zooming_in(factor, about):
    window = XWindow().zoomed(WHOLE, factor, about).zoomed(WHOLE, 1 / factor * 1.001, about)
    assert window.shown(WHOLE) == pytest.approx(WHOLE)


def test_as_many_steps_out_as_in_show_all_of_a_run_that_went_on_meanwhile():
    window = XWindow().zoomed(WHOLE, 0.6, about=1.0)
    assert window.zoomed((0.0, 1050.0), 1 / 0.6, about=1.0) == XWindow()
    assert window.zoomed((0.0, 2000.0), 1 / 0.6, about=1.0) != XWindow()  # twice as long: not yet
