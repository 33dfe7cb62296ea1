"""Going back in time shows the run as it was then, and nothing that came later."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from views import NOON_NS, make_view, silent_view

from operant.monitor.runs.reading.replay import row_at, view_at

VIEW = make_view("crashed", num_rows=200)


@given(st.integers(0, 198))
def test_the_numbers_are_those_of_the_row(row):
    past = view_at(VIEW, row)
    assert len(past.history) == row + 1
    assert past.status.iteration == row + 1
    assert past.status.env_steps == 2048 * (row + 1)
    returns = VIEW.history.series("episode/return").mean
    assert past.status.metrics["episode/return"] == returns[row]
    evaluation = past.status.metrics["evaluation/return"]
    assert math.isnan(evaluation) == (row < 19)
    assert past.publish == row + 1


def test_the_state_and_the_newest_moment_are_left_as_they_are():
    assert view_at(VIEW, 50).status.state == "crashed"
    assert view_at(VIEW, 199) is VIEW
    assert view_at(silent_view(), 0).publish == 0


def test_events_that_came_later_are_not_there_yet():
    # Rows are nanoseconds apart there, events seconds: all but the first come after the last row.
    assert [event.wall_ns for event in view_at(VIEW, 100).events] == [NOON_NS]


@given(st.floats(0, 1))
def test_a_position_and_its_row_agree(share):
    row = row_at(VIEW, share)
    assert 0 <= row < 200
    publish = VIEW.history.publish
    assert row_at(VIEW, float(publish[row] / publish[-1])) == row


def test_a_run_without_history_has_one_moment():
    assert row_at(silent_view(), 0.5) == 0
