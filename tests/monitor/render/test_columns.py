"""Columns fit into a width, on the screen and in print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import texts

from operant.monitor.render.columns import (
    Column,
    draw_head,
    draw_row,
    fit_columns,
    order_at,
    table_lines,
)
from operant.monitor.render.lines import line_width


def cell(place):
    return lambda row: row[place]


COLUMNS = [
    Column("run", cell(0), 8, 20, align="<>", order="run"),
    Column("steps", cell(1), 5, priority=1, align=">", order="steps"),
    Column("about", cell(2), 6, 30, priority=2),
]
ROWS = [("20261121-cart-k3f9", "1", ""), ("b", "12.3k", "a long word on it")]


def widths(columns, width):
    return {column.name: cells for column, cells in fit_columns(columns, width)}


def test_columns_stand_by_priority_and_widen_by_priority():
    assert widths(COLUMNS, 7) == {"run": 7}
    assert widths(COLUMNS, 13) == {"run": 13}
    assert widths(COLUMNS, 14) == {"run": 8, "steps": 5}
    assert widths(COLUMNS, 20) == {"run": 14, "steps": 5}
    assert widths(COLUMNS, 21) == {"run": 8, "steps": 5, "about": 6}
    assert widths(COLUMNS, 35) == {"run": 20, "steps": 5, "about": 8}
    assert widths(COLUMNS, 99) == {"run": 20, "steps": 5, "about": 30}


def test_a_column_keeps_cells_from_those_that_are_worth_less():
    columns = [COLUMNS[0]._replace(keeps=12), Column("curve", cell(1), 5, priority=6)]
    assert widths(columns, 17) == {"run": 17}
    assert widths(columns, 18) == {"run": 12, "curve": 5}


columns = st.lists(
    st.builds(
        Column, st.text(max_size=8), st.just(cell(0)), st.integers(1, 20), st.integers(0, 40),
        st.integers(-1, 8), st.sampled_from(["<", ">", "<>"]),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@given(columns, st.integers(1, 120), st.text(max_size=30))
def test_what_fits_is_as_wide_as_it_says_and_no_wider_than_the_room(columns, width, text):
    fitted = fit_columns(columns, width)
    total = sum(cells + 1 for _, cells in fitted) - 1
    always = sum(column.least + 1 for column in columns if column.priority <= 0) - 1
    assert total <= max(width, always)
    assert [column for column, _ in fitted] == [c for c in columns if c in dict(fitted)]
    assert all(cells <= max(column.least, column.most) for column, cells in fitted)
    lines = [draw_head(fitted), draw_row(fitted, (text,)), draw_row(fitted, (text,), True, "none")]
    assert not fitted or {line_width(line) for line in lines} == {total + 1}


def test_the_order_is_that_of_the_heading_under_the_mouse():
    fitted = fit_columns(COLUMNS, 21)
    assert texts([draw_head(fitted, ("steps", True))]) == ["run      …eps↑ about  "]
    assert [order_at(fitted, x) for x in (-1, 0, 8, 9, 14, 15, 50)] == [
        "", "run", "run", "steps", "steps", "", "",
    ]  # fmt: skip


def test_the_end_of_a_heading_tells_columns_apart():
    for width, text in ((9, "ppo.gamma"), (6, "gamma "), (4, "…mma")):
        column = Column("ppo.gamma", cell(0), width)
        assert texts([draw_head([(column, width)])]) == [f"{text} "]


def test_a_printed_table_is_aligned_and_whole_without_a_width():
    assert table_lines(COLUMNS, ROWS, None) == [
        "run                 steps  about",
        "20261121-cart-k3f9      1",
        "b                   12.3k  a long word on it",
    ]


def test_on_a_terminal_columns_are_narrowed_and_then_left_out():
    assert table_lines(COLUMNS, ROWS, 38)[2] == "b                   12.3k  a long wor…"
    assert table_lines(COLUMNS, ROWS, 23)[1:] == ["20…-k3f9      1", "b         12.3k  a lon…"]
    assert table_lines(COLUMNS, ROWS, 20)[1:] == ["2026…art-k3f9      1", "b              12.3k"]
    assert table_lines(COLUMNS, ROWS, 12)[1:] == ["202…art-k3f9", "b"]


@pytest.mark.parametrize("width", range(8, 60))
def test_no_line_is_wider_than_asked_for(width):
    assert max(map(len, table_lines(COLUMNS, ROWS, width))) <= width


def test_a_column_without_text_is_left_out_and_wide_letters_count_twice():
    columns = [Column("a", cell(0)), Column("none", cell(1)), Column("b", cell(2))]
    rows = [("日本", "", "1"), ("x", "", "2")]
    assert table_lines(columns, rows, None) == ["a     b", "日本  1", "x     2"]
