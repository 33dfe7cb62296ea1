"""Axes end on round numbers, hold what they show, and do not move with every publish."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from operant.monitor.charts.ticks import (
    log_scale,
    log_tick_rows,
    log_ticks,
    nice_scale,
    nice_step_above,
    nice_step_below,
    steady_end,
    tick_rows,
    ticks,
)
from operant.monitor.render.formatting import log_tick_label

numbers = st.floats(allow_nan=False, min_value=-1e12, max_value=1e12)


def is_nice(step: float) -> bool:
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    return any(mantissa == pytest.approx(nice) for nice in (1, 2, 5, 10))


@given(st.floats(min_value=1e-200, max_value=1e200))
def test_steps_are_one_two_or_five_times_a_power_of_ten(rough):
    above, below = nice_step_above(rough), nice_step_below(rough)
    assert is_nice(above)
    assert is_nice(below)
    assert rough * 0.999 <= above <= rough * 2.6
    assert rough * 0.39 <= below <= rough * 1.001


@given(numbers, numbers)
def test_a_scale_holds_all_values_and_is_never_empty(a, b):
    low, high = sorted((a, b))
    scale = nice_scale(low, high)
    slack = 1e-6 * scale.step
    assert scale.low <= low + slack
    assert scale.high >= high - slack
    assert scale.low < scale.high


@given(st.floats(), st.floats())
def test_a_scale_of_anything_finite_can_be_drawn(low, high):
    assume(low <= high and math.isfinite(low) and math.isfinite(high))
    scale = nice_scale(low, high)
    assert math.isfinite(scale.high - scale.low)
    assert scale.high > scale.low
    assert set(tick_rows(scale, 5)) >= {0, 4}


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (9.3, 487, (0, 500)),
        (-0.019, 0.001, (-0.02, 0.002)),
        (0.61, 0.69, (0.61, 0.69)),
        (5, 5, (4.5, 5.5)),
        (0, 0, (-1, 1)),
        (-80, -3, (-80, 0)),
    ],
)
def test_scales_end_on_round_numbers_and_take_in_a_near_zero(low, high, ends):
    scale = nice_scale(low, high)
    assert (scale.low, scale.high) == pytest.approx(ends)


@given(st.floats(min_value=1, max_value=1e12))
@example(2.4)  # 24 steps of 0.1, or a trifle more
def test_a_growing_axis_stands_still_for_a_while_and_wastes_little(end):
    reach = steady_end(0.0, end)
    assert end <= reach <= end * (1 + 1 / 15)
    assert steady_end(0.0, (end + reach) / 2) == pytest.approx(reach)


def test_ticks_are_round_and_never_too_many():
    assert ticks(0, 500, 3).tolist() == [0, 200, 400]
    assert ticks(9.5, 21, 6).tolist() == pytest.approx([10, 12, 14, 16, 18, 20])
    assert ticks(0, 1, 0).tolist() == []
    assert ticks(3, 3, 5).tolist() == []


@given(numbers, st.floats(min_value=1e-6, max_value=1e12), st.integers(1, 12))
def test_ticks_lie_in_their_range(low, size, at_most):
    assume(size > 1e-9 * abs(low))  # a scale is never finer
    found = ticks(low, low + size, at_most)
    assert len(found) <= at_most
    assert all(low - 1e-5 * size <= tick <= low + size + 1e-5 * size for tick in found)


def test_a_vertical_axis_names_its_ends_and_leaves_air_between_labels():
    rows = tick_rows(nice_scale(0, 500), 5)
    assert rows == {0: 500.0, 2: 200.0, 4: 0.0}
    rows = sorted(tick_rows(nice_scale(0, 500), 13))
    assert rows[0] == 0
    assert rows[-1] == 12
    assert min(b - a for a, b in itertools.pairwise(rows)) >= 2


powers = st.floats(-150, 150)


@given(powers, powers, st.integers(2, 40))
def test_a_logarithmic_scale_holds_all_values_and_its_ticks(a, b, num_rows):
    low, high = sorted((a, b))
    scale = log_scale(low, high)
    assert scale.low <= low + 1e-6
    assert scale.high >= high - 1e-6
    assert scale.high - scale.low > 0.1
    rows = log_tick_rows(scale, num_rows)
    assert set(rows) >= {0, num_rows - 1}
    assert all(scale.low - 1e-6 <= power <= scale.high + 1e-6 for power in rows.values())


@given(powers, st.floats(1e-3, 200), st.integers(1, 12))
def test_logarithmic_ticks_lie_in_their_range_and_are_never_too_many(low, size, at_most):
    found = log_ticks(low, low + size, at_most)
    assert len(found) <= at_most
    assert all(low - 1e-6 <= power <= low + size + 1e-6 for power in found)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (-3, 1, ["0.001", "0.01", "0.1", "1", "10"]),
        (0, 1, ["1", "2", "5", "10"]),
        (3, 5, ["1000", "10k", "100k"]),
    ],
)
def test_logarithmic_ticks_stand_at_tens_or_finer(low, high, labels):
    assert [log_tick_label(power) for power in log_ticks(low, high, 5)] == labels
