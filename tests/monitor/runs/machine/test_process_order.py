"""Processes are sorted, filtered, and drawn as a tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import RUN, busy_machine, made_up_row

from operant.monitor.runs.list.filter_terms import FilterError, words_filter
from operant.monitor.runs.machine.process_order import ORDERS, arranged


def pids(places):
    return [place.row.pid for place in places]


def wanted(text):
    return words_filter(text, "processes")


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ("cpu", [1200, 2501, 2001]),
        ("memory", [2501, 2500, 2001]),
        ("gpu", [1200, 1, 812]),
        ("run", [1230, 1200, 1210]),
        ("user", [840, 991, 1200]),
        ("state", [1200, 1, 812]),
        ("command", [840, 1, 1230]),
        ("pid", [1, 812, 840]),
    ],
)
def test_every_column_sorts_the_most_first_and_words_by_letter(order, first):
    assert pids(arranged(busy_machine(), order=order))[:3] == first


def test_the_other_way_round_ties_stay_by_number():
    places = arranged(busy_machine(), order="cpu", is_reversed=True)
    assert pids(places)[:3] == [812, 840, 991]
    assert pids(places)[-1] == 1200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sac", [2001]),
        ("root", [1, 812]),
        ("worker -1210", [1211]),
        ("zombie or stopped", [991, 2502]),
        ("k3f9 recorder", [1230]),
        ("/^25\\d+/", [2500, 2501, 2502]),
        ("nothing-like-that", []),
    ],
)
def test_a_filter_searches_number_user_state_run_and_command(text, found):
    assert pids(arranged(busy_machine(), wanted(text), order="pid")) == found


def test_a_filter_that_asks_for_more_than_words_is_refused():
    with pytest.raises(FilterError, match="processes can be searched by words only, not by user"):
        wanted("user:root")


def test_a_tree_has_children_below_their_parents_each_level_in_order():
    places = arranged(busy_machine(), order="cpu", is_tree=True)
    assert [(place.row.pid, place.branch) for place in places] == [
        (1, ""),
        (1200, "├─ "),
        (1211, "│  ├─ "),
        (1210, "│  └─ "),
        (812, "├─ "),
        (840, "│  └─ "),
        (2001, "│     ├─ "),
        (2500, "│     ├─ "),
        (2501, "│     │  ├─ "),
        (2502, "│     │  └─ "),
        (991, "│     └─ "),
        (1230, "└─ "),
    ]


def test_a_filtered_tree_keeps_what_leads_to_the_processes():
    places = arranged(busy_machine(), wanted("cc1plus -zombie"), is_tree=True)
    assert pids(places) == [1, 812, 840, 2500, 2501]


def test_a_process_whose_parent_is_not_seen_begins_a_tree():
    rows = [made_up_row(7, 99), made_up_row(8, 7), made_up_row(9, 9)]
    assert pids(arranged(rows, order="pid", is_tree=True)) == [7, 8, 9]


@given(
    parents=st.lists(st.integers(0, 30), max_size=30),
    order=st.sampled_from(list(ORDERS)),
    is_reversed=st.booleans(),
)
def test_a_tree_has_every_process_once(parents, order, is_reversed):
    # Parents have lower numbers here: no process descends from itself.
    rows = [made_up_row(pid, min(parent, pid - 1)) for pid, parent in enumerate(parents, 1)]
    places = arranged(rows, order=order, is_reversed=is_reversed, is_tree=True)
    assert sorted(pids(places)) == [row.pid for row in rows]
    assert pids(arranged(rows, wanted(RUN.id))) == []
