"""Statistics of groups: means, standard errors, interquartile means and their intervals."""

from __future__ import annotations

import math
import sys
from itertools import product

import numpy as np
import pytest

from operant.monitor.runs.list.group_statistics import (
    SPREADS,
    Middle,
    interval_text,
    intervals,
    middle_of,
)


def test_the_middle_is_the_mean_with_quartiles_or_the_ends():
    assert middle_of([10.0, 1.0, 2.0, 3.0], "range") == Middle(4.0, 1.0, 10.0, 4)
    # quartiles of four: at places 0.75 and 2.25
    assert middle_of([1.0, 2.0, 3.0, 10.0], "quartiles") == Middle(4.0, 1.75, 4.75, 4)
    assert middle_of([], "range") is None


def test_the_standard_error_is_the_sample_deviation_over_the_root_of_n():
    middle = middle_of([1.0, 2.0, 3.0, 10.0], "error")
    # squares of -3, -2, -1, 6 are 50: the deviation is sqrt(50 / 3), the error half of it
    error = math.sqrt(50 / 3) / 2
    assert middle == pytest.approx(Middle(4.0, 4.0 - error, 4.0 + error, 4))
    assert interval_text(middle, "error") == "± 2.041"


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end():
    assert middle_of([0.0, 1000.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0], "iqm").value == 3.5  # of 2 to 5
    assert middle_of([0.0, 1.0, 2.0, 3.0, 1000.0], "iqm").value == 2.0  # of 1, 2 and 3
    assert middle_of([1.0, 2.0, 6.0], "iqm").value == 3.0  # of three none is left out


@pytest.mark.parametrize("scores", [[79.0, 77.6, 81.8], [70.9, 69.6, 71.8, 72.2, 71.2]])
def test_the_interval_of_few_runs_is_that_of_all_resamples(scores):
    cut = len(scores) // 4
    every = [
        np.mean(sorted(draw)[cut : len(scores) - cut])
        for draw in product(scores, repeat=len(scores))
    ]
    low, high = np.quantile(every, (0.025, 0.975), method="inverted_cdf")
    middle = middle_of(scores, "iqm")
    assert (middle.low, middle.high) == pytest.approx((low, high))


def test_the_interval_of_more_runs_is_near_that_of_many_resamples():
    scores = np.random.default_rng(2).normal(size=12)
    drawn = np.sort(np.random.default_rng(3).choice(scores, (100_000, 12)), axis=1)
    low, high = np.quantile(drawn[:, 3:9].mean(axis=1), (0.025, 0.975))
    middle = middle_of(scores.tolist(), "iqm")
    assert (middle.low, middle.high) == pytest.approx((low, high), abs=0.1 * (high - low))


@pytest.mark.parametrize("spread", SPREADS)
def test_a_band_has_at_each_place_what_its_values_have_alone(spread):
    values = np.random.default_rng(1).normal(size=(7, 5))
    band = intervals(values, spread)
    assert band.shape == (3, 5)
    for place in range(5):
        middle = middle_of(values[:, place].tolist(), spread)
        assert band[:, place] == pytest.approx([middle.low, middle.value, middle.high])
        assert middle.low < middle.value < middle.high


def test_one_run_has_a_mean_but_no_error():
    assert middle_of([3.0], "quartiles") == Middle(3.0, 3.0, 3.0, 1)
    for spread in ("error", "iqm"):
        middle = middle_of([3.0], spread)
        assert (middle.value, middle.num_runs) == (3.0, 1)
        assert math.isnan(middle.low)
        assert interval_text(middle, spread) == ""


def test_no_finite_numbers_are_too_large_for_their_middle():
    largest = sys.float_info.max
    assert middle_of([largest, largest], "quartiles") == Middle(largest, largest, largest, 2)
    assert middle_of([-largest, largest], "quartiles") == pytest.approx(
        Middle(0.0, -largest / 2, largest / 2, 2)
    )
    assert middle_of([-largest, largest], "error").value == 0.0


def test_very_many_runs_take_fewer_resamples():
    values = np.arange(5000.0).tolist()
    middle = middle_of(values, "iqm")
    assert middle.low < middle.value == 2499.5 < middle.high
