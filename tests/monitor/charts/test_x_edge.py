"""The lower edge of a chart: both ends and the unit, whatever else wants to stand there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.charts.x_edge import XEdge, draw_x_edge

STEPS = XEdge((0.0, 409_600.0), "env steps")


def text(edge: XEdge, width: int = 40, start: int = 8) -> str:
    return "".join(piece for piece, _ in draw_x_edge(edge, width, start, "border"))


def test_ends_ticks_and_the_unit():
    assert text(STEPS) == "╰────── 0 ───────── 200k ── 410k steps ╯"
    assert text(STEPS, 60).endswith(" 410k env steps ╯")
    assert text(STEPS, 60).startswith("╰────── 0 ─────── 100k ────── 200k ──")
    assert text(XEdge((0.0, 6.14e6), "env steps")) == "╰────── 0 ───── 2M ──────── 6.1M steps ╯"


@pytest.mark.parametrize("width", [29, 30, 40, 80, 200])
@pytest.mark.parametrize(
    ("edge", "low", "high"),
    [
        (STEPS, " 0 ", " 410k "),
        (XEdge((0.0, 12.3), "minutes"), " 0 ", " 12.3 min"),
        (XEdge((0.0, 12.3), "minutes trained"), " 0 ", " 12.3 min"),
        (XEdge((0.0, 5000.0), "iterations"), " 0 ", " 5000 iter"),
        (XEdge((0.0, 14.0), "iterations"), " 0 ", " 14 iter"),
        (XEdge((12.34e6, 12.56e6), "env steps"), " 12.34M ", " 12.56M "),
        (XEdge((1.0, 4.0), "env steps", is_log=True), " 10 ", " 10k "),
    ],
)
def test_both_ends_are_there_at_every_width(width, edge, low, high):
    line = text(edge, width)
    assert len(line) == width
    assert low in line
    assert high in line
    assert any(word in line for word in ("steps", "min", "iter"))


@given(st.floats(0, 1), st.integers(29, 120))
def test_a_cursor_stands_beside_the_ends_and_never_in_their_place(share, width):
    at = share * 409_600.0
    line = draw_x_edge(XEdge((0.0, 409_600.0), "env steps", places=(at,)), width, 8, "border")
    whole = "".join(piece for piece, _ in line)
    assert len(whole) == width
    assert " 0 " in whole
    assert "410k steps ╯" in whole or "410k env steps ╯" in whole
    assert [style for _, style in line].count("focus") == 1


def test_the_two_ends_of_a_selection_are_told():
    line = draw_x_edge(XEdge((0.0, 100.0), "hours", places=(20.0, 50.0)), 40, 8, "border")
    assert [piece.strip() for piece, style in line if style == "focus"] == ["20.00", "50.00"]


def test_a_step_metric_of_a_long_name_keeps_its_end():
    line = text(XEdge((0.0, 12.0), "trainer/of/many/agents/global_step"))
    assert "_step ╯" in line
    assert " 0 " in line


def test_a_single_place_has_its_value_and_the_unit():
    assert " 5 env steps " in text(XEdge((5.0, 5.0), "env steps"))
    assert " 5.000 seconds " in text(XEdge((5.0, 5.0), "seconds"))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_an_axis_of_counts_has_whole_numbers_only(width):
    line = text(XEdge((0.0, 8.0), "env steps", places=(3.0,)), width)
    numbers = re.findall(r"[\d.]+", line)
    assert "." not in "".join(numbers)
    assert numbers[0] == "0"
    assert "3" in numbers
    assert numbers[-1] == "8"
