"""The vertical axis: one value neither flattens a chart nor vanishes from it."""

from __future__ import annotations

import numpy as np
import pytest
from views import texts

from operant.monitor.charts.chart import Chart, Trace, draw_chart
from operant.monitor.charts.curves import Curve, curve_of, gather
from operant.monitor.charts.y_range import y_range
from operant.shared import History
from operant.shared.rows.levels import folded, spread_out
from operant.shared.rows.row_batch import RowBatch

WAVE = 1.0 + 0.2 * np.sin(np.arange(400) * 0.1)


def curve(y, low=None, high=None) -> Curve:
    y = np.asarray(y, float)
    x = np.arange(len(y), dtype=float)
    return Curve(x, y if low is None else low, y, y if high is None else high, x < 0)


def range_of(y, **fields) -> tuple[float, float]:
    return y_range([gather(curve(y, **fields), (0.0, len(y) - 1.0), len(y))])


def drawn(y, width: int = 60, height: int = 9, **fields) -> list[str]:
    made = y if isinstance(y, Curve) else curve(y)
    x_range = (float(made.x[0]), float(made.x[-1]))
    return texts(draw_chart(Chart("loss", "1", (Trace(made),), x_range, **fields), width, height))


def labels(lines: list[str]) -> list[str]:
    return [label for line in lines[1:-1] if (label := line[1:8].strip())]


def with_value(value: float, at: int) -> np.ndarray:
    y = WAVE.copy()
    y[at] = value
    return y


@pytest.mark.parametrize("at", [3, 200, 399])
def test_one_value_far_above_all_others_is_told_at_the_upper_edge(at):
    lines = drawn(with_value(250_000, at))
    assert [float(label) for label in labels(lines)] == pytest.approx([1.2, 1.0, 0.8], abs=0.06)
    assert "↑" in lines[1]
    assert "max 250.0k" in lines[1]
    column = 8 + round(at / 399 * 49)
    assert lines[1][min(column, 57)] == "↑"


def test_the_full_range_has_all_and_needs_no_words():
    lines = drawn(with_value(250_000, 200), is_full_y=True)
    assert not any("max" in line for line in lines)
    assert labels(lines)[0] in ("250k", "260k", "300k")


@pytest.mark.parametrize(
    "y",
    [
        WAVE,
        np.linspace(0, 500, 400),
        60 * np.exp(-np.linspace(0, 4, 400)),  # a loss that falls
        np.repeat([0.0, 1.0], 200),
        [1.0, 2.0, 250_000.0],  # too few to say which is unusual
        np.where(np.arange(400) % 50 == 0, 0.02, 0.0),  # now and then, nothing in between
    ],
)
def test_all_values_are_there_where_they_fit_together(y):
    assert range_of(y) == (np.min(y), np.max(y))


def test_a_level_that_was_just_reached_is_no_outlier():
    y = np.concatenate([np.sin(np.arange(390)), np.linspace(100, 500, 10)])
    low, high = range_of(y)
    assert low == pytest.approx(-1, abs=0.01)
    assert high >= 450


def test_a_constant_keeps_its_place_beside_one_outlier():
    lines = drawn(np.where(np.arange(400) == 50, 250_000.0, 3e-4))
    assert "3.00e-4" in labels(lines)
    assert "max 250.0k" in lines[1]


def test_a_run_elsewhere_widens_the_axis_as_it_is_no_outlier():
    both = [gather(curve(WAVE + away), (0.0, 399.0), 400) for away in (0.0, 1000.0)]
    low, high = y_range(both)
    assert (low, high) == pytest.approx((0.8, 1001.2), abs=0.1)


def test_of_folded_rows_no_extreme_is_lost():
    rows = np.arange(100_000)
    values = 1.0 + 0.1 * np.sin(rows * 0.001)
    values[[31_337, 77_777]] = 250_000.0, -7.0
    batch = folded(RowBatch(np.tile(rows, (6, 1)), np.array([0]), values[None]), 0)
    history = History(["a"], batch.heads, [spread_out([batch], 1, np.arange(1), 1)])
    lines = drawn(curve_of(history, "a", history.env_steps.astype(float)))
    assert "max 250.0k" in lines[1]
    assert "min -7.000" in lines[-2]
    assert float(labels(lines)[0]) < 2


def test_a_smoothed_curve_still_tells_what_it_smoothes_away():
    mean = np.full(400, 1.0) + np.linspace(0, 0.1, 400)
    lines = drawn(curve(mean, low=mean - 0.01, high=np.where(np.arange(400) == 7, 900.0, mean)))
    assert "max 900.0" in lines[1]


def test_a_logarithmic_axis_tells_what_has_no_power_of_ten():
    lines = drawn(curve(WAVE, low=WAVE - 3), is_log_y=True)
    assert "min -2.200" in lines[-2]
    assert "max" not in lines[1]


def test_only_what_is_in_the_part_that_is_shown_counts():
    y = with_value(250_000, 10)
    chart = Chart("loss", "1", (Trace(curve(y)),), (100.0, 399.0))
    assert "max" not in texts(draw_chart(chart, 60, 9))[1]


def test_a_narrow_chart_has_the_value_alone():
    line = drawn(with_value(250_000, 200), width=29)[1]
    assert "250.0k" in line
    assert "max" not in line


def test_a_side_shows_no_more_than_twice_the_spread_of_the_other():
    low, high = range_of(WAVE, low=WAVE - 5.0, high=WAVE + 0.01)
    assert low == pytest.approx(WAVE.min() - 0.02)
    assert high == pytest.approx(WAVE.max() + 0.01)
