"""The list of runs in any order keeps every run."""

from __future__ import annotations

import pytest
from views import all_states, make_row

from operant.monitor.runs.run_order import ORDERS, next_order, ordered

ROWS = list(all_states().rows)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_every_order_keeps_all_runs(order, is_reversed):
    found = ordered(ROWS, order, is_reversed)
    assert sorted(row.run.id for row in found) == sorted(row.run.id for row in ROWS)


def test_by_state_what_needs_attention_comes_first():
    assert [row.run.id[16:-5] for row in ordered(ROWS, "state", False)] == [
        "failed", "crashed", "stalled", "running", "starting", "stopped", "finished",
    ]  # fmt: skip


def test_by_return_the_best_comes_first_and_what_has_none_last():
    rows = [
        make_row(name, "running", metrics=metrics)
        for name, metrics in [
            ("none", {}),
            ("low", {"episode/return": 1.0}),
            ("nan", {"episode/return": float("nan")}),
            ("high", {"episode/return": 9.0}),
        ]
    ]
    assert [row.run.id[16:] for row in ordered(rows, "return", False)][:2] == ["high", "low"]


def test_by_age_what_published_last_comes_first():
    ages = [row.status.age_s for row in ordered(ROWS, "age", False) if row.status.age_s is not None]
    assert ages == sorted(ages)


def test_the_orders_go_round():
    order = "newest"
    for _ in ORDERS:
        order = next_order(order)
    assert order == "newest"
