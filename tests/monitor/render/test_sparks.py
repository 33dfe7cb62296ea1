"""Curves in one row of text."""

from __future__ import annotations

import numpy as np

from operant.monitor.render.sparks import sampled, sparkline


def test_parts_are_of_equal_width_and_empty_ones_lie_on_a_line():
    x = np.array([0.0, 1.0, 10.0, 39.0, 40.0])
    y = np.array([1.0, 3.0, 4.0, 9.0, 11.0])
    # 0..10 holds 1 and 3, 10..20 the 4, 20..30 nothing, 30..40 the 9 and the 11
    assert sampled(x, y, 4) == (2.0, 4.0, 7.0, 10.0)


def test_what_is_no_number_is_left_out():
    nan = np.nan
    assert sampled(np.array([0.0, nan, 2.0]), np.array([nan, 1.0, 5.0]), 3) == (5.0, 5.0, 5.0)
    assert sampled(np.array([0.0, 1.0]), np.array([nan, nan]), 3) == ()


def test_the_lowest_is_the_lowest_block_and_the_highest_the_highest():
    assert sparkline(range(7), 7) == "▁▂▃▄▅▆▇"
    assert sparkline([5.0, 0.0], 2) == "▇▁"
    assert sparkline([3.0, 3.0], 4) == "▄▄▄▄"
    assert sparkline([], 3) == "   "
    assert len(sparkline(range(32), 11)) == 11


def test_one_value_far_from_all_others_does_not_flatten_them():
    values = [float(i) for i in range(16)]
    values[4] = -250_000.0
    assert sparkline(values, 16) == "▁▁▁▂▁▃▃▄▄▅▅▆▆▇▇▇"
    values[4], values[-1] = 4.0, 250_000.0  # the newest is no such thing: it may go on there
    assert sparkline(values, 16) == "▁" * 15 + "▇"
