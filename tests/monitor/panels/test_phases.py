"""Where the time goes adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import make_history, texts

from operant.monitor.panels.phases import (
    NUM_ITERATIONS,
    Phase,
    PhaseColumns,
    draw_bar,
    draw_history,
    draw_phases,
    recent_phases,
)
from operant.monitor.render.lines import line_width
from operant.monitor.render.palette import series_of_phase
from operant.shared import Metric

NAN = float("nan")
TIMES = [Metric("time/collect_s"), Metric("time/learn_s")]


def phases(*seconds: float) -> list[Phase]:
    names = ["collect", "learn", "evaluate", "checkpoint", "publish"]
    total = sum(seconds)
    return [Phase(n, s, s / total) for n, s in zip(names, seconds, strict=False)]


def test_shares_are_of_the_mean_of_recent_iterations():
    old, new = 100, NUM_ITERATIONS
    columns = {
        "time/collect_s": np.array([9.0] * old + [0.3] * new),
        "time/learn_s": np.array([0.0] * old + [0.1] * new),
    }
    collect, learn = recent_phases(TIMES, make_history(columns))
    assert (collect.name, learn.name) == ("collect", "learn")
    assert (collect.seconds, learn.seconds) == pytest.approx((0.3, 0.1))
    assert (collect.fraction, learn.fraction) == pytest.approx((0.75, 0.25))


def test_publishes_between_iterations_do_not_count_and_a_missing_phase_took_no_time():
    columns = {
        "time/collect_s": np.array([1.0, NAN, 1.0, NAN]),
        "time/learn_s": np.array([2.0, NAN, NAN, NAN]),
    }
    collect, learn = recent_phases(TIMES, make_history(columns))
    assert (collect.seconds, learn.seconds) == (1.0, 1.0)  # over the two rows that wrote any


def test_a_run_that_tells_nothing_of_its_time_has_no_phases():
    assert recent_phases([Metric("loss")], make_history({"loss": np.ones(3)})) == []
    assert recent_phases(TIMES, make_history({"time/collect_s": np.array([NAN])})) == []


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=5).filter(any), st.integers(1, 120))
def test_the_bar_is_as_wide_as_its_room(seconds, width):
    assert line_width(draw_bar(phases(*seconds), width)) == width


def test_names_stand_in_the_bar_where_they_fit():
    assert texts([draw_bar(phases(3.0, 1.0), 20)]) == [" collect       " + "     "]


@given(st.integers(1, 100), st.integers(1, 12))
def test_the_numbers_stay_in_their_room(width, height):
    lines = draw_phases(phases(3.0, 1.0, 0.5, 0.01, 1e-6), width, height)
    assert len(lines) <= height
    assert all(line_width(line) <= width + 2 for line in lines)


def test_the_largest_stay_when_room_is_short():
    lines = texts(draw_phases(phases(1.0, 3.0, 0.5), 30, 3))
    assert [line.split()[1] for line in lines[1:]] == ["collect", "learn"]


def test_over_the_run_the_first_phase_is_at_the_bottom_as_high_as_its_share():
    shares = PhaseColumns(("collect", "learn"), np.array([[0.75, 0.25], [0.25, 0.75]]))
    lines = draw_history(shares, width=2, height=4)
    collect, learn = (f"block{series_of_phase(name)}" for name in shares.names)
    # Left 3 of 4 cells are of collecting, right 1 of 4.
    assert lines == [
        [("  ", learn)],
        [(" ", collect), (" ", learn)],
        [(" ", collect), (" ", learn)],
        [("  ", collect)],
    ]
