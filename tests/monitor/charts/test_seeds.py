"""The mean of several runs is that of the runs there are, and how many is known."""

from __future__ import annotations

import numpy as np
import pytest
from groups import ROWS, member
from views import make_history, texts

from operant.monitor.charts.chart import draw_chart
from operant.monitor.charts.choice import chart_of
from operant.monitor.charts.curves import curve_of
from operant.monitor.charts.options import ChartOptions
from operant.monitor.charts.seeds import SEEDS, SeedsHistory, on_grid, seeds_history, seeds_view
from operant.monitor.charts.shown_run import Watched, shown_run
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import History, Metric
from operant.shared.rows.row_batch import NEVER_WRITTEN
from operant.shared.runs.status import RunStatus

NAN = float("nan")


def run_of(values: list[float], steps: list[int]) -> History:
    return make_history({"a": np.array(values)}, np.array(steps))


def at(history: SeedsHistory, step: int) -> tuple[float, float, float]:
    """Low, mean and high there."""
    (row,) = np.flatnonzero(history.env_steps == step)
    low, mean, high = (side[row] for side in history.series("a"))
    return low, mean, high


def test_the_mean_lies_straight_between_the_points_of_each_run():
    both = seeds_history([run_of([0, 10], [0, 100]), run_of([4, 4, 8], [0, 50, 100])], "range")
    assert at(both, 0) == (0, 2, 4)
    assert at(both, 50) == (4, 4.5, 5)
    assert at(both, 75) == (6, 6.75, 7.5)
    assert at(both, 100) == (8, 9, 10)


def test_after_the_end_of_a_run_the_others_are_the_mean_and_are_counted():
    both = seeds_history([run_of([1, 1], [0, 100]), run_of([3, 3, 5], [0, 50, 60])], "range")
    assert at(both, 50) == (1, 2, 3)
    assert at(both, 60) == (1, 3, 5)
    assert at(both, 61) == (1, 1, 1)
    assert [both.num_seeds("a", x) for x in (0, 60, 61, 100, None, -1)] == [2, 2, 1, 1, 1, 0]
    assert both.series(SEEDS.name).mean[[0, -1]].tolist() == [2, 1]


def test_a_run_whose_last_row_lacks_the_metric_counts_to_its_own_end():
    runs = [run_of([1, 3], [0, 100]), run_of([1, 5, NEVER_WRITTEN], [0, 50, 100])]
    both = seeds_history(runs, "range")
    assert at(both, 100) == (3, 4, 5)
    assert both.num_seeds("a") == 2
    views = [
        RunView(RunStatus(f"run{i}", "finished", metrics={"a": newest}), run, (Metric("a"),))
        for i, (run, newest) in enumerate(zip(runs, [3.0, NAN], strict=True))
    ]
    assert seeds_view("x", views, "range").newest["a"] == 4.0


def test_the_last_value_does_not_hold_after_nan():
    both = seeds_history([run_of([1, 3], [0, 100]), run_of([1, 5, NAN], [0, 50, 100])], "range")
    assert at(both, 100) == (3, 3, 3)
    assert both.num_seeds("a") == 1


def test_quartiles_lie_between_the_runs_there_are():
    runs = [run_of([v, v], [0, 10]) for v in (1, 2, 3, 10)] + [run_of([99, 99], [0, 5])]
    history = seeds_history(runs, "quartiles")
    assert at(history, 10) == (1.75, 4.0, 4.75)
    assert at(history, 5) == (2.0, 23.0, 10.0)


def test_standard_errors_and_interquartile_means_are_those_of_the_runs_there_are():
    runs = [run_of([v, v], [0, 10]) for v in (1, 2, 3, 4, 100)] + [run_of([1, 1], [0, 20])]
    error = seeds_history(runs, "error")
    # at 0 the runs are 1, 1, 2, 3, 4 and 100: their mean is 18.5
    deviation = np.std([1, 1, 2, 3, 4, 100], ddof=1)
    low, mean, high = at(error, 0)
    assert (mean, high - mean) == pytest.approx((18.5, deviation / np.sqrt(6)))
    assert mean - low == pytest.approx(high - mean)
    low, iqm, high = at(seeds_history(runs, "iqm"), 0)
    assert iqm == 2.5  # of 1, 2, 3 and 4
    assert 1 <= low < 2.5 < high <= 100
    for spread in ("error", "iqm"):
        assert at(seeds_history(runs, spread), 20) == (1, 1, 1)  # one run has no band


def test_a_chart_has_the_interval_beside_its_value():
    view = seeds_view("x", [member(row).view for row in ROWS[:3]], "error")
    run = shown_run(Watched(view), "env steps", view, None)
    metric = Metric("episode/return", unit="points")
    chart = chart_of(metric, [run], ChartOptions(), (0.0, 2e5))
    assert chart.interval == "± 50.00"  # of 101 and 201
    at_half = chart_of(metric, [run], ChartOptions(cursor=100_000.0), (0.0, 2e5))
    assert at_half.interval == "± 16.50"  # of 50.0, 99.5 and 50
    wide, narrow = (texts(draw_chart(chart, width, 8))[0] for width in (70, 50))
    assert "151.0 points, ± 50.00, 2 of 3 runs" in wide
    assert "151.0 points, 2 of 3 runs" in narrow


def test_a_run_does_not_count_where_it_wrote_nan():
    broken = run_of([5, NAN, 5, 5], [0, 40, 60, 100])
    history = seeds_history([broken, run_of([1, 1], [0, 100])], "range")
    assert at(history, 0) == (1, 3, 5)
    assert at(history, 50) == (1, 1, 1)
    assert at(history, 60) == (1, 3, 5)
    assert history.num_seeds("a", 50) == 1


def test_a_metric_that_one_run_lacks_is_the_mean_of_the_others():
    one = make_history({"a": np.array([1.0, 1.0])}, np.array([0, 10]))
    other = make_history({"b": np.array([7.0, 7.0])}, np.array([0, 10]))
    history = seeds_history([one, other], "range")
    assert history.names == ["a", "b", SEEDS.name]
    assert set(history.series("b").mean) == {7.0}
    assert history.num_seeds("b") == 1
    assert np.isnan(history.series("none").mean).all()


def test_without_env_steps_the_grid_is_one_of_iterations():
    history = seeds_history([make_history({"a": np.arange(3.0)}), run_of([1, 1], [0, 10])], "range")
    assert history.env_steps[-1] == -1
    assert history.iteration[[0, -1]].tolist() == [1, 3]


def test_no_rows_are_an_empty_curve():
    empty = seeds_history([History(), History()], "quartiles")
    assert (len(empty), empty.num_seeds("a")) == (0, 0)
    assert len(seeds_view("x", [], "range").history) == 0


def test_on_the_grid_a_curve_is_nowhere_outside_its_points():
    curve = curve_of(run_of([1, 3], [10, 20]), "a", np.array([10.0, 20.0]))
    values = on_grid(curve, np.array([5.0, 10.0, 15.0, 20.0, 25.0]))
    assert values[1:4].tolist() == [1.0, 2.0, 3.0]
    assert np.isnan(values[[0, 4]]).all()


def test_a_chart_of_seeds_says_of_how_many_it_is_the_mean():
    views = [member(row).view for row in ROWS[:3]]
    view = seeds_view("cart · 3 seeds", views, "range")
    assert SEEDS in view.schema  # they end at different steps
    assert view.newest["episode/return"] == pytest.approx((101 + 201) / 2)
    run = shown_run(Watched(view), "env steps", view, None)
    for cursor, words in [(None, "2 of 3 runs"), (50_000.0, "3 of 3 runs")]:
        options = ChartOptions(cursor=cursor)
        chart = chart_of(Metric("episode/return"), [run], options, (0.0, 2e5))
        assert chart.count == words
    (trace,) = chart.traces
    assert (trace.curve.high >= trace.curve.mean).all()
    assert (trace.curve.low <= trace.curve.mean).all()


def test_seeds_that_end_together_have_no_chart_of_their_number():
    assert SEEDS not in seeds_view("x", [member(row).view for row in ROWS[:2]], "range").schema
