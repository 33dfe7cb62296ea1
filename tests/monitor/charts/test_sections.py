"""Charts stand in groups, pinned ones first, hidden ones at the end, and are found by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.charts.arrangement import Arrangement
from operant.monitor.charts.grid_layout import grid_layout
from operant.monitor.charts.sections import HIDDEN, MAX_UNGROUPED, PINNED, arranged
from operant.monitor.runs.list.filter_terms import FilterError, words_filter
from operant.shared import Metric

METRICS = [Metric(f"{'abcd'[i % 4]}/{i}") for i in range(40)]
FEW = METRICS[:8]


def shape_of(metrics, **wanted):
    sections, places = arranged(metrics, Arrangement(**wanted))
    return [(one.key, one.num_charts, one.is_open) for one in sections], [m.name for m in places]


def test_many_metrics_are_grouped_by_their_prefix_and_few_are_not():
    assert shape_of(METRICS)[0] == [(key, 10, True) for key in "abcd"]
    assert shape_of(FEW) == ([("*", 8, True)], [metric.name for metric in FEW])
    assert len(shape_of(METRICS[: MAX_UNGROUPED + 1])[0]) == 4


def test_a_collapsed_group_is_its_heading_and_a_search_opens_it():
    sections, places = shape_of(FEW, collapsed=("b",))
    assert sections == [("a", 2, True), ("b", 2, False), ("c", 2, True), ("d", 2, True)]
    assert places == ["a/0", "a/4", "b/1", "c/2", "c/6", "d/3", "d/7"]
    found, _ = arranged(FEW, Arrangement(collapsed=("b",)), is_search=True)
    assert all(section.is_open for section in found)


def test_pinned_charts_are_first_and_hidden_ones_a_line_at_the_end():
    sections, places = shape_of(METRICS, pinned=("d/3", "a/4"), hidden=("a/0",))
    assert sections[0] == (PINNED, 2, True)
    assert places[:2] == ["d/3", "a/4"]
    assert sections[-1] == (HIDDEN, 1, False)
    assert shape_of(FEW, hidden=("a/0",), shows_hidden=True)[1][-1] == "a/0"


def test_what_is_pinned_is_not_hidden():
    hidden = Arrangement().with_pin_toggled("a").with_hiding_toggled("a")
    assert (hidden.pinned, hidden.hidden) == ((), ("a",))
    assert hidden.with_pin_toggled("a") == Arrangement(pinned=("a",))
    assert hidden.with_hiding_toggled("a") == Arrangement()
    assert Arrangement(("a",), ("b",), ("c",), 3).reset() == Arrangement(("a",))


@given(
    st.integers(1, 60), st.integers(20, 200), st.integers(5, 70), st.integers(0, 9),
    st.sets(st.sampled_from("abcd")), st.integers(0, 200), st.integers(0, 60),
)  # fmt: skip
def test_what_is_selected_is_in_view_and_nothing_overlaps(
    n, width, height, columns, closed, s, top
):
    sections, places = arranged(METRICS[:n], Arrangement(collapsed=tuple(closed)))
    selected = s % len(places)
    layout = grid_layout(sections, (width, height), selected, top, columns)
    ends = [placed.y + placed.height for placed in layout.placed]
    assert [placed.y for placed in layout.placed] == [0, *ends[:-1]]
    assert ends[-1] <= height
    assert any(one.band.first <= selected < one.band.first + one.band.num for one in layout.placed)
    assert 0 <= layout.neighbour(selected, 0, 1) < len(places)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("loss", ["loss/value", "loss/policy"]),
        ("loss -value", ["loss/policy"]),
        ("/^loss.(v|q)/", ["loss/value"]),
        ("~RETURN$", ["episode/return"]),
        ("policy or return", ["loss/policy", "episode/return"]),
    ],
)
def test_metrics_are_found_by_words_and_expressions(text, found):
    names = ["loss/value", "loss/policy", "episode/return"]
    assert [name for name in names if words_filter(text)(name)] == found


@pytest.mark.parametrize("text", ["/(/", "loss>3", "state:running", '"loss'])
def test_what_is_no_filter_of_names_is_said(text):
    with pytest.raises(FilterError):
        words_filter(text)
