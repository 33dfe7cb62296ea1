"""Numbers are read as people type them."""

from __future__ import annotations

import math

import pytest

from operant.shared.text.typed_numbers import typed_number, typed_seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10M", 1e7), ("1e6", 1e6), ("1k", 1000.0), ("1.5k", 1500.0), ("-2.5", -2.5), (".5", 0.5),
        ("1_000", 1000.0), ("2G", 2e9), ("1e3k", 1e6), ("3.", 3.0), ("inf", math.inf), ("+7", 7.0),
    ],
)  # fmt: skip
def test_prefixes_and_powers_are_numbers(text, number):
    assert typed_number(text) == pytest.approx(number)


@pytest.mark.parametrize(
    "text", ["", "k", "10m", "1MM", "nan", "1e", "--1", "1 2", "0x10", "1__0", "٣"]
)
def test_what_is_no_number_is_none(text):
    assert typed_number(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), ("5m", 300.0), ("1.5h", 5400.0), ("2d", 172_800.0), ("1M", None)],
)
def test_times_have_units(text, seconds):
    assert typed_seconds(text) == seconds
