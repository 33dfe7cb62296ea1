"""Smooth curves stay among the values they are made of, whatever rows those came in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.charts.curves import Curve
from operant.monitor.charts.smoothing import STRENGTHS, smoothed


def curve(x, y) -> Curve:
    x, y = np.array(x, float), np.array(y, float)
    return Curve(x, y - 1, y, y + 1, np.zeros(len(x), bool))


@given(
    st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=50),
    st.sampled_from(STRENGTHS),
    st.floats(1e-3, 1e9),
)
def test_a_smooth_curve_stays_between_the_lowest_and_the_highest_value(y, strength, spacing):
    x = np.arange(len(y)) * spacing
    smooth = smoothed(curve(x, y), strength, float(x[-1]))
    assert np.isfinite(smooth.mean).all()
    assert min(y) <= smooth.mean.min()
    assert smooth.mean.max() <= max(y)


def test_no_strength_changes_nothing():
    line = curve([0, 1, 2], [5, 1, 9])
    assert smoothed(line, 0.0, 2.0) is line


def test_noise_goes_and_its_range_stays_as_the_band():
    x = np.arange(1000.0)
    noisy = curve(x, np.where(x % 2, 1.0, -1.0))
    smooth = smoothed(noisy, 0.05, 1000.0)
    assert np.abs(smooth.mean[100:]).max() < 0.05
    assert smooth.low is noisy.low
    assert smooth.high is noisy.high


def test_it_is_the_exponential_mean_of_what_came_before():
    # Evenly spaced: y_i = sum of v_j a^(i-j) / sum of a^(i-j), with a = exp(-1 / reach).
    values, reach = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2.0
    smooth = smoothed(curve(np.arange(5), values), reach / 4, 4.0)
    weights = np.exp(-(4 - np.arange(5)) / reach)
    assert smooth.mean[-1] == pytest.approx((values * weights).sum() / weights.sum())


def test_eight_rows_folded_into_one_hardly_change_it():
    x = np.arange(1, 801.0)
    y = np.sin(x / 60)
    fine = smoothed(curve(x, y), 0.1, 800.0)
    folded_x = np.concatenate([x[7:400:8], x[400:]])
    folded_y = np.concatenate([y[:400].reshape(-1, 8).mean(1), y[400:]])
    coarse = smoothed(curve(folded_x, folded_y), 0.1, 800.0)
    assert coarse.mean[-400:] == pytest.approx(fine.mean[-400:], abs=0.02)
