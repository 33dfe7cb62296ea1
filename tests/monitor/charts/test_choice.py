"""The page decides which charts there are."""

from __future__ import annotations

import numpy as np
import pytest
from views import SCHEMA, make_history, texts

from operant.monitor.charts.arrangement import Arrangement
from operant.monitor.charts.board import ChartBoard
from operant.monitor.charts.chart import draw_chart
from operant.monitor.charts.choice import chart_of, charted, says_nothing
from operant.monitor.charts.options import ChartOptions
from operant.monitor.charts.shown_run import Look, ShownRun, Watched, shown_run
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import Metric
from operant.shared.runs.status import RunStatus

NAN = float("nan")


def watched_of(column, place=None, *, newest=None, is_reference=False, state="running") -> Watched:
    newest = column[-1] if newest is None else newest
    status = RunStatus(f"run-{place}", state, metrics={"a": newest})
    history = make_history({"a": np.array(column)})
    view = RunView(status, history, (Metric("a"),), publish=1)
    return Watched(view, None if place is None else Look(place), is_reference)


def run_of(column, place=None, **fields) -> ShownRun:
    watched = watched_of(column, place, **fields)
    return shown_run(watched, "env steps", watched.view, None)


def test_what_people_look_at_first_comes_first_and_details_last():
    schema = [Metric("mine/detail", level=1), Metric("mine/a"), *reversed(SCHEMA)]
    assert [metric.name for metric in charted([schema])] == [
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
    assert [metric.name for metric in charted([schema])] == ["loss", "val/accuracy", "lr"]


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
    chart = chart_of(Metric("a"), [run_of(column, newest=newest)], ChartOptions(), (0.0, 2.0))
    assert (chart.value, chart.is_alarming) == (value, is_alarming)


def test_several_runs_share_charts_and_a_filter_leaves_some():
    other = [Metric("loss/policy"), Metric("only/there")]
    names = [metric.name for metric in charted([SCHEMA, other])]
    assert names.count("loss/policy") == 1
    assert "only/there" in names
    assert [m.name for m in charted([SCHEMA, other], ("LOSS", "pol"))] == ["loss/policy"]


def test_with_a_reference_the_difference_to_it_stands_beside_the_value():
    runs = [run_of([1.0, 2.0, 5.0], 0), run_of([1.0, 1.0, 2.0], 1, is_reference=True)]
    chart = chart_of(Metric("a"), runs, ChartOptions(), (0.0, 3.0))
    assert (chart.value, chart.unit) == ("5.000", "Δ+3.000 +150.0%")
    less = chart_of(Metric("a"), runs, ChartOptions(shows_difference=True), (0.0, 3.0))
    assert (less.title, less.value, len(less.traces)) == ("Δ a", "+3.000", 1)
    assert less.traces[0].curve.mean.tolist() == [0, 1, 3]


def test_at_the_cursor_stands_the_value_there():
    chart = chart_of(Metric("a"), [run_of([1.0, 2.0, 5.0])], ChartOptions(cursor=2.5), (0.0, 3.0))
    assert chart.value == "2.000"


def test_a_chart_says_what_its_axis_counts_and_whether_it_shows_all_values():
    runs = [run_of([1.0, 2.0, 5.0])]
    options = ChartOptions().with_full_toggled("a").with_log_toggled("y", "a")
    chart = chart_of(Metric("a"), runs, options, (0.0, 3.0))
    assert (chart.x_unit, chart.is_full_y, chart.title) == ("iterations", True, "a log y full")
    assert not chart_of(Metric("a"), runs, options.with_full_toggled("a"), (0.0, 3.0)).is_full_y


def test_an_empty_chart_waits_for_its_metric_whatever_else_stands_in_its_title():
    board = ChartBoard()
    board.choose(ChartOptions(shows_difference=True, arrangement=Arrangement(pinned=("a",))))
    board.show([watched_of([NAN], 0), watched_of([NAN], 1, is_reference=True)], ())
    lines = texts(draw_chart(board.chart(0), 40, 7))
    assert "Δ a pinned" in lines[0]
    assert "waiting for a " in lines[3]


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ({"state": "finished"}, "the reference has no a "),
        ({"state": "crashed"}, "the reference has no a "),
        ({"state": "running"}, "waiting for a "),
    ],
)
def test_a_reference_that_has_ended_without_rows_is_not_waited_for(reference, says):
    runs = [run_of([1.0, 2.0], 0), run_of([NAN, NAN], 1, is_reference=True, **reference)]
    chart = chart_of(Metric("a"), runs, ChartOptions(shows_difference=True), (0.0, 2.0))
    assert says in texts(draw_chart(chart, 40, 7))[3]
    both = chart_of(Metric("a"), runs, ChartOptions(), (0.0, 2.0))
    assert not both.lacking  # the other run is drawn


@pytest.mark.parametrize(
    ("state", "says"), [("running", "waiting for a "), ("crashed", "no value was logged")]
)
def test_a_run_that_has_ended_is_not_waited_for(state, says):
    chart = chart_of(Metric("a"), [run_of([NAN, NAN], state=state)], ChartOptions(), (0.0, 2.0))
    assert says in texts(draw_chart(chart, 40, 7))[3]


@pytest.mark.parametrize(("unit", "text"), [("episodes", "7"), ("", "7.000")])
def test_whole_numbers_of_things_have_no_fraction(unit, text):
    chart = chart_of(Metric("a", unit=unit), [run_of([5.0, 7.0])], ChartOptions(), (0.0, 1.0))
    assert chart.value == text


def test_charts_that_say_nothing_come_last_and_those_of_a_policy_s_return_never():
    count = np.arange(10.0)
    history = make_history(
        {
            "updates/skipped": np.zeros(10),
            "speed/a": count,
            "loss/value": np.ones(10),
            "episode/return": count,
            "episode/length": count,
            "evaluation/return": np.full(10, -200.0),
        }
    )
    silent = {name for name in history.names if says_nothing(name, [history])}
    assert silent == {"updates/skipped", "episode/length"}
    other = make_history({"updates/skipped": count, "episode/length": count})
    assert not any(says_nothing(name, [history, other]) for name in silent)
    few = make_history({"updates/skipped": np.zeros(7)})
    assert not says_nothing("updates/skipped", [few])
