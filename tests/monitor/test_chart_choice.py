"""The page decides which charts there are."""

from __future__ import annotations

import numpy as np
import pytest
from views import SCHEMA, make_history

from operant.monitor.chart_choice import chart_of, charted, whole_range
from operant.monitor.curves import XAxis, x_axis
from operant.shared import Metric

NAN = float("nan")


def test_what_people_look_at_first_comes_first_and_details_last():
    schema = [Metric("mine/detail", level=1), Metric("mine/a"), *reversed(SCHEMA)]
    assert [metric.name for metric in charted(schema)] == [
        "episode/return",
        "loss/policy",
        "loss/value",
        "speed/env_steps_per_s",
        "evaluation/return",
        "policy/entropy",
        "policy/approx_kl",
        "mine/a",
        "mine/detail",
    ]


def test_a_loop_with_names_of_its_own_gets_all_of_them_in_its_order():
    schema = [Metric("loss"), Metric("val/accuracy"), Metric("lr"), Metric("note", kind="text")]
    assert [metric.name for metric in charted(schema)] == ["loss", "val/accuracy", "lr"]


@pytest.mark.parametrize(
    ("column", "newest", "value", "is_alarming"),
    [
        ([1.0, 2.0], 2.0, "2.000", False),
        ([NAN, NAN], NAN, "-", False),  # never written
        ([1.0, NAN], NAN, "NaN", True),  # written as NaN
        ([1.0, NAN], 1.0, "1.000", False),  # not in the newest publish
        ([NAN, np.inf], np.inf, "inf", True),
    ],
)
def test_never_written_and_written_as_nan_are_told_apart(column, newest, value, is_alarming):
    history = make_history({"a": np.array(column)})
    chart = chart_of(Metric("a"), newest, history, x_axis(history), (0.0, 2.0))
    assert (chart.value, chart.is_alarming) == (value, is_alarming)


def test_the_axis_spans_the_run_from_zero_with_room_ahead_while_it_lives():
    x = XAxis("env steps", np.array([2048.0, 1_000_500.0]))
    assert whole_range(x, is_alive=False) == (0.0, 1_000_500.0)
    start, end = whole_range(x, is_alive=True)
    assert (start, end) == (0.0, 1_050_000.0)
    assert whole_range(XAxis("env steps", np.array([900.0, 1000.0])), False) == (900.0, 1000.0)
    assert whole_range(XAxis("env steps", np.array([-1.0])), True) == (0.0, 0.0)
