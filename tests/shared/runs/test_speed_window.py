"""Speed and time left, on made-up histories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.runs.speed import SpeedWindow, time_left_s


def test_the_first_iteration_counts_only_until_there_is_another():
    window = SpeedWindow(0.0, 0)
    assert window.add(10.0, 100) == 10.0  # with all that was compiled in it
    assert window.add(11.0, 200) == 100.0
    assert window.add(12.0, 300) == 100.0


def test_what_is_older_than_30_seconds_no_longer_counts():
    window = SpeedWindow(0.0, 0)
    for second in range(1, 101):
        window.add(float(second), 100 * second)
    for second in range(101, 131):
        speed = window.add(float(second), 10_000 + 200 * (second - 100))
        if second == 115:
            assert speed == 150.0  # 15 s at 100, 15 s at 200
    assert speed == 200.0


def test_an_iteration_that_is_longer_than_the_window_has_its_own_speed():
    window = SpeedWindow(0.0, 0)
    window.add(1.0, 1)
    window.add(101.0, 1001)
    assert window.add(301.0, 1401) == 2.0


def test_the_time_left_is_training_less_what_has_passed_and_all_pauses_to_come():
    # 1000 steps at 50 a second are 20 s, 5 of them gone; 3 evaluations of 7 s and a save of 0.5 s.
    assert time_left_s(1000, 50.0, 5.0, [(3, 7.0), (1, 0.5)]) == 15 + 21.5
    assert time_left_s(0, 50.0, 60.0, [(1, 7.0)]) == 7.0
    assert time_left_s(1000, 0.0) is None
    assert time_left_s(1000, 50.0, 20.5, [(1, 7.0)]) is None  # training takes longer than it should


@given(
    step_s=st.floats(0.01, 10),
    evaluate_s=st.floats(0, 300),
    every=st.integers(2, 50),
    num_evaluations=st.integers(2, 12),
)
def test_the_time_left_falls_by_a_second_a_second_through_evaluations_too(
    step_s, evaluate_s, every, num_evaluations
):
    num_iterations = every * num_evaluations
    window, training_s, wall_s, done = SpeedWindow(0.0, 0), 0.0, 0.0, 0
    moments = []
    for iteration in range(1, num_iterations + 1):
        training_s += step_s
        wall_s += step_s
        if iteration % every == 0:
            wall_s += evaluate_s
            done += 1
        window.add(training_s, iteration)
        pauses = [(num_evaluations - done, evaluate_s if done else 0.0)]
        moments.append((wall_s, time_left_s(num_iterations - iteration, window.per_s, 0.0, pauses)))
    for now_s, left in moments[every - 1 :]:  # from the first evaluation on nothing is unknown
        assert left == pytest.approx(wall_s - now_s, rel=1e-6, abs=1e-6 * wall_s)
