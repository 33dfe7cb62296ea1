"""A chart keeps its frame at every size and with every value, and says what is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from views import texts

from operant.monitor.charts.chart import Chart, Trace, draw_chart
from operant.monitor.charts.curves import Curve
from operant.monitor.charts.layers import Mark
from operant.monitor.render.ascii import ascii_text
from operant.monitor.render.palette import DARK, make_styles

STYLES = make_styles(DARK)


def chart(*values: float, **fields) -> Chart:
    y = np.array(values, float)
    x = np.arange(len(y), dtype=float)
    x_range = (0.0, max(1.0, float(len(y) - 1)))
    traces = (Trace(curve(x, y)),)
    return Chart("episode/return", "487.3", traces, x_range, "over env steps", **fields)


def curve(x, y, low=None, high=None) -> Curve:
    low, high = (y if side is None else side for side in (low, high))
    return Curve(x, low, y, high, np.zeros(len(x), bool))


def test_where_room_is_short_a_mean_keeps_of_how_many_runs_it_is_longer_than_its_unit():
    mean = chart(1, 2, unit="reward", count="4 of 10 runs")
    tops = [texts(draw_chart(mean, width, 10))[0] for width in (60, 40, 30)]
    assert "487.3 reward, 4 of 10 runs ╮" in tops[0]
    assert "487.3 4 of 10 runs ╮" in tops[1]
    assert "runs" not in tops[2]
    assert [cell_len(top) for top in tops] == [60, 40, 30]


def test_a_rising_curve_goes_from_the_lower_left_to_the_upper_right():
    lines = texts(draw_chart(chart(0.0, 500.0), 30, 7))
    assert lines == [
        "╭ episode/return ───── 487.3 ╮",
        "│   500 ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈⣀⣠⠤ │",
        "│                   ⣀⣠⠴⠒⠋⠁   │",
        "│   200 ┈┈┈┈┈┈┈⢀⣠⠤⠖⠋⠁┈┈┈┈┈┈┈ │",
        "│         ⢀⣠⠤⠖⠋⠉             │",
        "│     0 ⠖⠋⠉┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ │",
        "╰────── 0 ────── 0.5 ── 1.00 ╯",
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
    trace = Trace(curve(np.arange(400.0), mean, mean - 0.1, high))
    spiky = Chart("kl", "1", (trace,), (0.0, 399.0))
    labels = [text[1:8].strip() for text in texts(draw_chart(spiky, 60, 9))[1:-1]]
    assert [label for label in labels if label] == ["1.30", "1.00", "0.70"]


@pytest.mark.parametrize("title", ["[red]x[/]", "a\x1b[2Jb", "日本語の名前"])
def test_strange_names_keep_the_frame(title):
    lines = texts(draw_chart(Chart(title, "1", chart(1.0, 2.0).traces, (0.0, 1.0)), 30, 6))
    assert {cell_len(line) for line in lines[1:]} == {30}


@given(
    st.lists(st.floats(-1e150, 1e150), max_size=30),
    st.integers(16, 90),
    st.integers(4, 25),
    st.floats(-10, 40),
)
def test_logarithmic_axes_marks_and_a_cursor_keep_the_size(values, width, height, cursor):
    drawn = draw_chart(
        chart(
            *values,
            is_log_x=True,
            is_log_y=True,
            cursor=cursor,
            marks=(Mark(0.0), Mark(3.0), Mark(99.0)),
        ),
        width,
        height,
    )
    assert {cell_len(text) for text in texts(drawn)} == {width}


def test_a_logarithmic_axis_shows_decades_alike_and_leaves_out_what_is_not_positive():
    lines = texts(draw_chart(chart(1.0, 10.0, 100.0, is_log_y=True), 30, 9))
    labels = [line[1:8].strip() for line in lines[1:-1]]
    assert [label for label in labels if label] == ["100", "10", "1"]
    nothing = texts(draw_chart(chart(-1.0, 0.0, is_log_y=True), 40, 7))
    assert "nothing above 0" in nothing[3]


@pytest.mark.filterwarnings("error")
def test_a_smooth_curve_may_be_positive_where_its_values_are_not():
    x = np.arange(3.0)
    below = curve(x, np.array([1.0, 2.0, 3.0]), x - 9, x - 8)
    shown = Chart("loss", "3", (Trace(below),), (0.0, 2.0), is_log_y=True)
    assert "loss" in texts(draw_chart(shown, 40, 8))[0]


def test_a_cursor_stands_at_its_place_and_says_where_it_is():
    lines = texts(draw_chart(chart(*[5.0] * 101, cursor=50.0), 80, 9))
    column = lines[2].index("│", 10)
    assert 40 <= column <= 46
    assert " 50.00 " in lines[-1]


def test_alerts_have_a_row_of_their_own_and_leave_the_axis_alone():
    lines = draw_chart(chart(*[5.0] * 101, marks=(Mark(0.0), Mark(70.0, "error"))), 80, 9)
    plain = texts(draw_chart(chart(*[5.0] * 101), 80, 9))
    assert texts(lines)[-1] == plain[-1]
    row = texts(lines)[-2]
    assert row.startswith("│alerts !")
    assert row.count("!") == 2
    assert ("!", "error") in lines[-2]
    assert ("!", "warning") in lines[-2]
    assert not any("alerts" in line for line in plain)


def test_what_a_drag_selects_is_shaded_and_its_ends_are_told():
    lines = texts(draw_chart(chart(*[5.0] * 101, selection=(70.0, 30.0)), 80, 9))
    assert "│░░░" in lines[2]
    assert "░" not in lines[2][:25] + lines[2][65:]
    assert " 30.00 " in lines[-1]
    assert " 70.00 " in lines[-1]


def test_a_constant_is_no_rule_in_ascii():
    for value in (0.0, 0.5, 3e-4):
        for height in range(5, 12):
            lines = [
                ascii_text(line) for line in texts(draw_chart(chart(*[value] * 50), 40, height))
            ]
            drawn = [sum(line.count(letter) for letter in "-_'") for line in lines[1:-1]]
            assert sorted(count > 25 for count in drawn)[-2:] == [False, True], lines


def test_a_long_name_keeps_its_end():
    long = replace(chart(1.0, 2.0), title="train/agent_0/critic/head/value_loss/clip_0.2")
    assert "loss/clip_0.2 ─" in texts(draw_chart(long, 40, 7))[0]


def two_runs(**fields) -> Chart:
    x, y = np.arange(100.0), np.arange(100.0)
    traces = (
        Trace(curve(x, y), "series0", (1, 0), "●", "run-a", "99.00"),
        Trace(curve(x, 99 - y), "series3", (2, 2), "▲", "run-b", "0", is_reference=True),
    )
    return Chart("episode/return", "99", traces, (0.0, 99.0), **fields)


def test_the_curve_of_the_reference_is_named_beside_it():
    lines = draw_chart(two_runs(), 40, 12)
    pieces = [(text, style) for line in lines for text, style in line if "ref" in text]
    assert [(text.strip()[-3:], style) for text, style in pieces] == [("ref", "series3")]
    alone = Chart("a", "1", two_runs().traces[1:], (0.0, 99.0))
    assert not any("ref" in line for line in texts(draw_chart(alone, 40, 12)))


def test_a_legend_without_room_for_all_says_how_many_more_there_are():
    traces = tuple(replace(two_runs().traces[0], label=f"run-{i}") for i in range(30))
    text = "\n".join(texts(draw_chart(Chart("a", "1", traces, (0.0, 99.0)), 100, 24)))
    assert "9 more" in text
