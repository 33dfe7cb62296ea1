"""Numbers and times read as people expect, whatever they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.render import formatting
from operant.monitor.render.formatting import (
    UNKNOWN,
    format_age,
    format_clock,
    format_count,
    format_duration,
    format_percent,
    format_rate,
    format_relative,
    format_short_time,
    format_si,
    format_ticks,
    format_value,
    format_written,
)

FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


def number_in(text: str) -> float:
    """The number that `text` stands for."""
    if text[-1] in FACTORS:
        return float(text[:-1]) * FACTORS[text[-1]]
    return float(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.123, "0.12"),
        (9.996, "10.0"),
        (999.6, "1.00k"),
        (1_234_567, "1.23M"),
        (-45_600, "-45.6k"),
        (1e30, "1.00e30"),
        (float("nan"), "NaN"),
        (float("-inf"), "-inf"),
    ],
)
def test_prefixes_keep_three_digits(number, text):
    assert format_si(number) == text


@given(st.floats(min_value=1, max_value=9e20) | st.floats(min_value=-9e20, max_value=-1))
def test_a_prefixed_number_is_near_the_number_and_short(number):
    text = format_si(number)
    assert number_in(text) == pytest.approx(number, rel=0.006)
    assert len(text.lstrip("-")) <= 5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (487.31, "487.3"),
        (1, "1.000"),
        (0.012344, "0.01234"),
        (0.00012, "1.20e-4"),
        (9_999, "9999"),
        (1_234_567, "1.235M"),
        (0, "0"),
        (None, UNKNOWN),
        (float("nan"), "NaN"),
        (float("inf"), "inf"),
    ],
)
def test_values_show_digits_that_mean_something(value, text):
    assert format_value(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e20, max_value=1e20))
def test_a_value_is_near_what_it_shows(value):
    assert number_in(format_value(value)) == pytest.approx(value, rel=0.006, abs=1e-300)


def test_nan_in_a_snapshot_is_a_value_never_written():
    assert format_written(float("nan")) == UNKNOWN
    assert format_written(2.0) == "2.000"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-3.767e30, "-3.8e30"), (-3.22e-5, "-3.2e-5"), (-1.2e-12, "-1e-12"), (-0.01234, "-0.0123")],
)
def test_a_narrow_value_loses_digits_and_not_its_exponent(value, text):
    assert format_written(value, 7) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (192, "3m 12s"),
        (7_500, "2h 05m"),
        (3 * 86_400 + 4 * 3_600, "3d 04h"),
        (-1, UNKNOWN),
        (None, UNKNOWN),
        (float("nan"), UNKNOWN),
    ],
)
def test_durations_have_two_units(seconds, text):
    assert format_duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e12))
def test_a_duration_fits_seven_cells(seconds):
    assert len(format_duration(seconds)) <= 7


@given(st.floats(min_value=0, max_value=8_639_999), st.floats(min_value=0, max_value=86_400))
def test_a_longer_time_never_shows_as_a_shorter_one(seconds, more):
    def whole(text: str) -> int:
        factors = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
        return sum(int(part[:-1]) * factors[part[-1]] for part in text.split())

    assert whole(format_duration(seconds)) <= whole(format_duration(seconds + more))
    assert whole(format_duration(seconds)) <= seconds


def test_what_comes_several_times_a_second_has_a_calm_age():
    assert [format_age(age) for age in (0.0, 0.24, 0.99, 1.0, 75.0, None)] == [
        "<1s", "<1s", "<1s", "1s", "1m 15s", UNKNOWN,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4e-6, "4.00µs"),
        (0.0312, "31.2ms"),
        (192, "3m 12s"),
        (0, "0s"),
        (None, UNKNOWN),
    ],
)
def test_short_times_have_the_unit_that_suits_them(seconds, text):
    assert format_short_time(seconds) == text


@given(st.floats(min_value=1e-9, max_value=99))
def test_a_short_time_is_near_what_it_shows(seconds):
    text = format_short_time(seconds)
    factor = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}.get(text[-2:], 1.0)
    assert float(text.rstrip("nµms")) * factor == pytest.approx(seconds, rel=0.006)
    assert len(text) <= 7


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, "0%"),
        (0.0001, "<0.1%"),
        (0.99996, "99.9%"),
        (1, "100%"),
        (None, UNKNOWN),
        (float("nan"), UNKNOWN),
    ],
)
def test_percents_reach_their_ends_only_at_the_end(fraction, text):
    assert format_percent(fraction) == text


def test_counts_and_rates():
    assert [format_count(n) for n in (0, 9_999, 12_345, None)] == ["0", "9999", "12.3k", UNKNOWN]
    assert [format_rate(r) for r in (1.234e6, float("nan"))] == ["1.23M/s", UNKNOWN]


def test_clock_times_are_local_and_survive_nonsense():
    assert format_clock(1_795_262_465 * 10**9) == "12:01:05"
    assert format_clock(2**63 - 1)
    assert format_clock(10**30) == UNKNOWN


@pytest.mark.parametrize(
    ("ticks", "step", "labels"),
    [
        ([0, 200, 400], 200, ["0", "200", "400"]),
        ([-0.3, 0.0, 0.3], 0.1, ["-0.3", "0", "0.3"]),
        ([0, 500_000, 1_000_000], 500_000, ["0", "0.5M", "1.0M"]),
        ([300, 50_300, 100_300], 50_000, ["0", "50k", "100k"]),
        ([1e-4, 2e-4], 1e-4, ["1e-4", "2e-4"]),
        ([0.0], 0.0, ["0"]),
        ([], 1.0, []),
    ],
)
def test_ticks_have_the_digits_their_step_asks_for(ticks, step, labels):
    assert format_ticks(ticks, step) == labels


@given(st.integers(-50, 50), st.sampled_from([1, 2, 5]), st.integers(-12, 15), st.integers(2, 8))
def test_different_ticks_have_different_labels(first, mantissa, power, count):
    step = mantissa * 10.0**power
    labels = format_ticks([(first + i) * step for i in range(count)], step)
    assert len(set(labels)) == count


@given(st.floats() | st.none())
def test_nothing_is_too_strange_to_show(number):
    of_more_than_a_number = (
        "format_clock", "format_phase", "format_phase_time", "format_left",
        "format_relative", "format_si", "format_ticks",
    )  # fmt: skip
    for name in dir(formatting):
        if name.startswith("format_") and name not in of_more_than_a_number:
            assert getattr(formatting, name)(number)
    assert formatting.format_phase_time(2.0, number).startswith("2s")
    if number is not None:
        assert format_si(number)
        if math.isfinite(number):
            assert format_ticks([number], abs(number))


@pytest.mark.parametrize(
    ("value", "reference", "text"),
    [
        (112.5, 100.0, "+12.5%"), (-85.0, -100.0, "+15.0%"), (0.0, 8.0, "-100.0%"),
        (100.0, 100.0, "+0.0%"), (5e4, 1.0, "+5.00M%"), (-5e4, 1.0, "-5.00M%"),
        (1.0, 0.0, UNKNOWN), (None, 1.0, UNKNOWN), (1.0, None, UNKNOWN), (math.nan, 1.0, UNKNOWN),
        (math.inf, 1.0, UNKNOWN), (1e308, 1e-308, UNKNOWN), (1e308, -1e308, UNKNOWN),
    ],
)  # fmt: skip
def test_a_distance_is_in_percent_of_the_size_of_the_reference(value, reference, text):
    assert format_relative(value, reference) == text
