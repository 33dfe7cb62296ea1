"""Tables of texts: sorted, and as lines that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import texts

from operant.monitor.render.lines import line_width
from operant.monitor.render.table import Table, draw_table, order_of

TABLE = Table(
    ["name", "score"], [["b", "10"], ["a", "9"], ["c", "1e3"], ["d", "n/a"], ["e"], ["f", "nan"]]
)


@pytest.mark.parametrize(
    ("sorted_by", "names"),
    [
        (None, "bacdef"),
        ((0, False), "abcdef"),
        # Numbers, then words, and rows without a cell last, whichever way round.
        ((1, False), "abcdfe"),
        ((1, True), "cbafde"),
    ],
)
def test_numbers_are_sorted_as_numbers(sorted_by, names):
    assert "".join(TABLE.rows[place][0] for place in order_of(TABLE, sorted_by)) == names


def test_numbers_stand_at_the_right_and_the_sorted_column_has_an_arrow():
    lines = texts(draw_table(TABLE, order_of(TABLE, (1, True))[:3], (1, True), 15))
    assert lines == ["name score↓    ", "c       1e3    ", "b        10    ", "a         9    "]


def test_the_sorted_column_is_shown_if_not_all_fit():
    wide = Table([f"column{n}" for n in range(20)], [[f"{n:9d}" for n in range(20)]])
    assert "column0" in texts(draw_table(wide, [0], None, 40))[0]
    assert "column19↑" in texts(draw_table(wide, [0], (19, False), 40))[0]


def test_control_characters_are_shown_as_spaces():
    table = Table(["a\x1b[2J"], [["\x1b]0;title\x07x\r\ny\u202e"]])
    text = "".join(texts(draw_table(table, [0], None, 60)))
    assert text.isprintable()
    assert "]0;title x y" in text


cells = st.text(max_size=60)


@given(
    st.lists(cells, min_size=1, max_size=8),
    st.lists(st.lists(cells, max_size=10), max_size=8),
    st.one_of(st.none(), st.tuples(st.integers(0, 7), st.booleans())),
    st.integers(1, 100),
)
def test_every_line_is_as_wide_as_its_room(columns, rows, sorted_by, width):
    table = Table(columns, rows)
    sorted_by = sorted_by and (sorted_by[0] % len(columns), sorted_by[1])
    lines = draw_table(table, order_of(table, sorted_by)[:5], sorted_by, width)
    assert {line_width(line) for line in lines} == {width}
