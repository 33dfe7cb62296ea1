"""Charts and the list show the whole learning curve, even if the agent learned quickly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from views import texts

from operant.monitor.charts.chart import Chart, Trace, draw_chart
from operant.monitor.charts.charted_metrics import is_learning_curve, main_metric, steps_name
from operant.monitor.charts.curves import Curve, gather
from operant.monitor.charts.y_range import y_range
from operant.monitor.render.sparks import sampled, sparkline
from operant.monitor.render.spikes import spikes

# `episode/return` of each iteration of one run of cart_pole_ppo (5M env steps, seed 0).
CART_POLE = np.full(1221, 500.0)
CART_POLE[:28] = (
    17.4, 22.7, 29.2, 36.6, 42.0, 85.5, 106.2, 120.6, 150.7, 169.2, 190.3, 183.5, 173.2, 201.4,
    221.5, 264.6, 282.3, 258.0, 359.3, 295.1, 276.4, 331.8, 375.6, 375.4, 430.4, 488.9, 500.0,
    479.7,
)  # fmt: skip
LEVELS = st.floats(-1e6, 1e6)


def curve(y) -> Curve:
    y = np.asarray(y, float)
    return Curve(np.arange(len(y), dtype=float), y, y, y, np.zeros(len(y), bool))


def range_of(y, columns: int, is_learning_curve: bool = True) -> tuple[float, float]:
    gathered = gather(curve(y), (0.0, len(y) - 1.0), columns)
    return y_range([gathered], is_learning_curve=is_learning_curve)


@pytest.mark.parametrize("width", [24, 40, 66, 120, 198])
def test_the_first_run_of_the_readme_shows_its_learning_curve(width):
    chart = Chart("episode/return", "500.0", (Trace(curve(CART_POLE)),), (0.0, 1220.0),
                  is_learning_curve=True)  # fmt: skip
    lines = texts(draw_chart(chart, width, 9))
    labels = [label for line in lines[1:-1] if (label := line[1:8].strip())]
    assert labels[0] == "500"
    assert labels[-1] == "0"
    assert not any(word in line for line in lines for word in ("min", "max", "↓", "↑"))


@pytest.mark.parametrize("width", [8, 12, 16])
def test_in_the_list_it_rises_from_the_lowest_block_to_the_highest(width):
    drawn = sparkline(sampled(np.arange(1221.0), CART_POLE, 32), width)
    assert drawn == "▁" + "▇" * (width - 1)


@given(
    st.lists(st.floats(0, 1e3), min_size=1, max_size=60),
    st.integers(0, 2000),
    st.integers(20, 400),
    LEVELS,
)
def test_no_rise_is_ever_cut_off(steps, num_after, columns, start):
    y = start + np.cumsum([0.0, *steps, *[0.0] * num_after])
    for values in (y, -y):  # costs fall
        gathered = gather(curve(values), (0.0, len(values) - 1.0), columns)
        low, high = y_range([gathered], is_learning_curve=True)
        assert (low, high) == (values.min(), values.max())


@given(st.lists(LEVELS, min_size=1, max_size=40), st.booleans())
def test_no_level_that_lasts_is_a_spike(levels, is_learning_curve):
    lasting = np.repeat(levels, 4)
    if not is_learning_curve:  # at its ends for longer: they have neighbours on one side alone
        lasting = np.concatenate([[levels[0]] * 4, lasting, [levels[-1]] * 4])
    assert not spikes(lasting, is_learning_curve).any()


@given(
    arrays(np.float64, st.integers(60, 400), elements=st.floats(-1, 1)),
    st.integers(1, 3),
    st.sampled_from([-1e6, 1e6]),
    st.data(),
)
def test_a_spike_of_a_few_rows_never_flattens_a_loss(noise, length, height, data):
    y = np.sin(np.arange(len(noise)) / 10) + noise
    at = data.draw(st.integers(0, len(y) - length))
    y[at : at + length] = height
    low, high = range_of(y, len(y), is_learning_curve=False)
    if at + length == len(y) and length >= 2:
        return  # the newest rows have gone there: that is where the loss is now
    assert -2 <= low < high <= 2


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_spike_inside_a_learning_curve_is_left_out_and_its_start_is_not(length):
    y = CART_POLE.copy()
    y[700 : 700 + length] = -1e6
    low, high = range_of(y, len(y))
    assert (low, high) == (17.4, 500.0)


def test_a_constant_lies_in_the_middle():
    assert sparkline([500.0] * 32, 8) == "▄" * 8
    lines = texts(draw_chart(Chart("r", "500", (Trace(curve([500.0] * 50)),), (0.0, 49.0)), 40, 9))
    rows = [row for row, line in enumerate(lines[1:-1]) if any("⠀" < c < "⣿" for c in line[9:])]
    assert {row for row in rows if "⠒" in lines[1 + row] or "⠤" in lines[1 + row]} <= {3}
    assert 3 in rows


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("episode/return", True),
        ("episode/length", True),
        ("evaluation/return", True),
        ("rollout/ep_rew_mean", True),
        ("cost/total", True),
        ("eval_score", True),
        ("loss/value", False),
        ("optimizer/grad_norm", False),
        ("train/loss", False),
    ],
)
def test_returns_lengths_scores_and_evaluations_are_learning_curves(name, is_one):
    assert is_learning_curve(name) == is_one


@pytest.mark.parametrize(
    ("names", "main", "steps"),
    [
        (["loss/value", "episode/return", "episode/length"], "episode/return", "env steps"),
        (["rollout/ep_rew_mean", "train/loss"], "rollout/ep_rew_mean", "env steps"),
        (["train/loss", "eval/accuracy"], "eval/accuracy", "steps"),
        (["train/learning_rate", "train/loss"], "train/loss", "steps"),
        (["gpu/temperature"], "", "steps"),
        ([], "", "env steps"),
    ],
)
def test_the_list_shows_the_main_metric_and_steps_have_their_name(names, main, steps):
    assert (main_metric(names), steps_name(names)) == (main, steps)
