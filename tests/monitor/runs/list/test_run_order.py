"""The list of runs in any order keeps every run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from views import all_states, make_row

from operant.monitor.runs.list.run_order import (
    ORDERS,
    is_order,
    next_order,
    order_choices,
    ordered,
    shown_value,
    value_text,
)
from operant.monitor.runs.list.run_values import known_names

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


def test_by_machine_this_one_comes_first():
    rows = [replace(row, host=host) for row, host in zip(ROWS, ["b", "", "a"], strict=False)]
    assert [row.host for row in ordered(rows, "machine", False)] == ["", "a", "b"]


def with_config(name: str, config: dict, **metrics: float):
    return replace(make_row(name, "running", metrics=metrics), config=config)


MORE = [
    with_config("a", {"lr": 1e-3, "env": "cart"}, loss=3.0),
    with_config("b", {"lr": 1e-2, "env": "acro"}, loss=float("nan")),
    with_config("c", {"lr": "auto"}, loss=5.0),
    with_config("d", {}),
]


@pytest.mark.parametrize(
    ("order", "is_reversed", "names"),
    [
        ("metric:loss", False, "cabd"),
        ("metric:loss", True, "acbd"),  # runs without it are last either way
        ("config:lr", False, "bacd"),
        ("config:lr", True, "cabd"),
        ("config:env", False, "bacd"),
        ("config:gone", False, "abcd"),
    ],
)
def test_any_metric_and_any_value_sorts(order, is_reversed, names):
    assert "".join(row.run.id[-1] for row in ordered(MORE, order, is_reversed)) == names


def test_what_has_no_column_is_shown_beside_the_return():
    assert [value_text(row, "metric:loss") for row in MORE] == ["3.000", "-", "5.000", "-"]
    assert [value_text(row, "config:lr") for row in MORE] == ["0.00100", "0.01000", "auto", "-"]
    assert (shown_value("return"), shown_value("metric:loss")) == ("", "loss")


def test_all_there_is_can_be_chosen_and_the_next_column_comes_first():
    choices = order_choices(known_names(MORE), "age")
    assert choices[0].value == "steps/s"
    assert {choice.value for choice in choices} == {
        *ORDERS, "metric:loss", "config:lr", "config:env",
    }  # fmt: skip
    assert all(is_order(choice.value) for choice in choices)


@pytest.mark.parametrize("text", ["", "retrun", "metric:", "loss"])
def test_a_setting_that_is_no_order_is_none(text):
    assert not is_order(text)
