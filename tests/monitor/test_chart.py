"""A chart keeps its frame at every size and with every value, and says what is missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from views import texts

from operant.monitor.chart import Chart, draw_chart
from operant.monitor.curves import Curve
from operant.monitor.palette import DARK, make_styles

STYLES = make_styles(DARK)


def chart(*values: float, **fields) -> Chart:
    y = np.array(values, float)
    x = np.arange(len(y), dtype=float)
    x_range = (0.0, max(1.0, float(len(y) - 1)))
    return Chart("episode/return", "487.3", Curve(x, y, y, y), x_range, "over env steps", **fields)


def test_a_rising_curve_goes_from_the_lower_left_to_the_upper_right():
    lines = texts(draw_chart(chart(0.0, 500.0), 30, 7))
    assert lines == [
        "╭ episode/return ───── 487.3 ╮",
        "│   500 ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈⣀⡤⠖⠋ │",
        "│                   ⣀⡤⠖⠋⠁    │",
        "│   200 ┈┈┈┈┈┈┈⢀⣠⠤⠖⠋⠁┈┈┈┈┈┈┈ │",
        "│          ⢀⣠⠴⠚⠉             │",
        "│     0 ⣠⠴⠚⠉┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ │",
        "╰────── 0 ────── 0.5 ─── 1.0 ╯",
    ]


@given(
    st.lists(st.floats(-1e150, 1e150), max_size=30),
    st.integers(1, 90),
    st.integers(1, 25),
    st.booleans(),
)
def test_it_fills_exactly_its_size(values, width, height, is_selected):
    lines = draw_chart(chart(*values), width, height, is_selected)
    assert len(lines) == height
    if width >= 16 and height >= 4:
        assert {cell_len(text) for text in texts(lines)} == {width}
    assert {style for line in lines for _, style in line} - {""} <= set(STYLES)


def test_without_a_point_it_waits():
    assert "waiting for episode/return" in texts(draw_chart(chart(), 40, 7))[3]


def test_one_point_is_a_point():
    assert sum(text.count("●") for text in texts(draw_chart(chart(3.0), 40, 7))) == 1


def test_a_constant_stands_in_the_middle():
    lines = texts(draw_chart(chart(*[0.001] * 50), 40, 7))
    assert "⠒" in lines[3] or "⠤" in lines[3]


def test_a_value_that_is_no_number_alarms():
    alarming = chart(1.0, is_alarming=True)
    assert (" 487.3", "error") in draw_chart(alarming, 40, 7)[0]


def test_the_unit_goes_before_the_name_and_the_name_before_the_value():
    with_unit = chart(1.0, 2.0, unit="steps/s")
    assert "487.3 steps/s" in texts(draw_chart(with_unit, 40, 7))[0]
    assert "steps/s" not in texts(draw_chart(with_unit, 26, 7))[0]
    assert "487.3" in texts(draw_chart(with_unit, 17, 7))[0]


def test_a_large_chart_has_its_note_as_well():
    assert "episode/return  over env steps ─" in texts(draw_chart(chart(1.0, 2.0), 80, 7))[0]
    assert "over" not in texts(draw_chart(chart(1.0, 2.0), 50, 7))[0]


def test_single_spikes_leave_the_chart_instead_of_flattening_it():
    mean = np.full(400, 1.0) + 0.2 * np.sin(np.arange(400))
    high = mean.copy()
    high[7] = 1000.0
    spiky = Chart("kl", "1", Curve(np.arange(400.0), mean - 0.1, mean, high), (0.0, 399.0))
    labels = [text[1:8].strip() for text in texts(draw_chart(spiky, 60, 9))[1:-1]]
    assert [label for label in labels if label] == ["1.30", "1.00", "0.70"]


@pytest.mark.parametrize("title", ["[red]x[/]", "a\x1b[2Jb", "日本語の名前"])
def test_strange_names_keep_the_frame(title):
    lines = texts(draw_chart(Chart(title, "1", chart(1.0, 2.0).curve, (0.0, 1.0)), 30, 6))
    assert {cell_len(line) for line in lines[1:]} == {30}
