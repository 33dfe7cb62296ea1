"""The window follows the selection and the bar follows the window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from views import texts

from operant.monitor.render.scroll import scrollbar, window_start


@given(st.integers(1, 50), st.integers(0, 60), st.integers(1, 20), st.data())
def test_the_selected_row_is_in_the_window(total, start, size, data):
    selected = data.draw(st.integers(0, total - 1))
    start = window_start(selected, start, size, total)
    assert start <= selected < start + size
    assert 0 <= start <= max(0, total - size)


def test_the_window_moves_only_as_far_as_it_must():
    assert window_start(selected=5, start=2, size=4, total=10) == 2
    assert window_start(selected=6, start=2, size=4, total=10) == 3
    assert window_start(selected=1, start=2, size=4, total=10) == 1


def test_the_bar_is_at_the_ends_when_the_window_is():
    bar = [texts(scrollbar(start, 5, 20, 8)) for start in (0, 15)]
    assert bar[0] == ["▐", "▐", *"││││││"]
    assert bar[1] == [*"││││││", "▐", "▐"]


def test_there_is_no_bar_where_everything_fits():
    assert set(texts(scrollbar(0, 5, 5, 5))) == {" "}
