"""Runs belong together that differ in their seed alone, or have a value in common."""

from __future__ import annotations

from dataclasses import replace

import pytest
from groups import RATES, ROWS
from views import make_row

from operant.monitor.runs.list.run_groups import (
    NAME,
    SINGLE,
    RunGrouper,
    group_choices,
    plain_name,
)
from operant.shared.runs.run_notes import RunNotes


def groups(rows=ROWS, by: str = NAME):
    return RunGrouper().groups(rows, by)


def test_runs_that_differ_in_their_seed_alone_are_one_group():
    found = groups()
    assert [group.count_words for group in found] == ["3 seeds", "3 seeds"]
    assert [group.label for group in found] == [
        "cart_pole learning_rate=0.001", "cart_pole learning_rate=0.01",
    ]  # fmt: skip
    assert found[0].runs == tuple(row.run for row in ROWS[:3])


def test_another_name_is_another_group_whatever_the_configuration_says():
    other = replace(ROWS[0], run=make_row("other-zzzz", "running").run)
    assert [group.label for group in groups([ROWS[0], other])] == ["cart_pole", "other"]


def test_by_a_value_all_runs_that_have_it_are_one_group():
    bare = make_row("bare-zzzz", "running")
    found = groups([*ROWS, bare], "ppo.learning_rate")
    assert [(group.label, len(group.rows)) for group in found] == [
        ("ppo.learning_rate=0.001", 3), ("ppo.learning_rate=0.01", 3), ("no ppo.learning_rate", 1),
    ]  # fmt: skip
    assert [group.label for group in groups(by="seed")] == ["seed=1", "seed=2", "seed=3"]
    assert [group.count_words for group in groups(by="env")] == ["6 runs"]


def test_every_run_is_in_one_group():
    for by in (NAME, "seed", "env", "ppo.gamma", "nothing"):
        runs = [run for group in groups(by=by) for run in group.runs]
        assert sorted(run.id for run in runs) == sorted(row.run.id for row in ROWS)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("cart_pole-ppo-k3f9", "cart_pole-ppo"),
        ("cart-seed1-k3f9", "cart"),
        ("cart_s12-k3f9", "cart"),
        ("seed3-cart-k3f9", "cart"),
        ("seed-4-k3f9", "seed-4"),
        ("lr-1-k3f9", "lr-1"),
        ("cars2-k3f9", "cars2"),
    ],
)
def test_the_seed_in_a_name_is_no_part_of_it(name, plain):
    assert plain_name(make_row(name, "running")) == plain


def test_a_number_at_the_end_of_a_name_is_the_seed_where_the_configuration_says_so():
    row = replace(make_row("seeds-12-k3f9", "running"), config={"seed": 12})
    assert plain_name(row) == "seeds"
    assert plain_name(replace(row, config={"seed": 2})) == "seeds-12"
    assert plain_name(replace(row, config={**row.config, "trial": 12})) == "seeds-12"
    rows = [
        replace(make_row(f"lr-1-{seed}-k3f{seed + 1}", "running"), config={"seed": seed})
        for seed in (1, 2, 3)
    ]
    assert [group.label for group in groups(rows)] == ["lr-1"]


def test_a_group_stands_in_the_list_with_its_means_and_its_worst_state():
    (group, _) = groups()
    summary = group.summary(["episode/return", "loss/value"])
    # returns 101, 201 and 50
    assert summary.status.metrics["episode/return"] == pytest.approx(352 / 3)
    assert (summary.status.state, summary.status.env_steps) == ("failed", 200_000)
    assert summary.config == {"env": "cart_pole", "ppo.learning_rate": RATES[0], "ppo.gamma": 0.99}
    assert group.states() == [("!", "error", 1), ("✓", "done", 2)]


def test_values_that_differ_come_before_those_that_all_share():
    values = [choice.value for choice in group_choices(ROWS, SINGLE)]
    assert values == [NAME, SINGLE, "ppo.learning_rate", "seed", "env", "ppo.gamma"]
    assert group_choices(ROWS, NAME)[0].value == SINGLE


def test_what_a_run_belongs_to_follows_its_configuration():
    grouper = RunGrouper()
    assert len(grouper.groups(ROWS[:2], NAME)) == 1
    other = replace(ROWS[1], config={**ROWS[1].config, "env": "acrobot"})
    assert len(grouper.groups([ROWS[0], other], NAME)) == 2


def test_what_a_run_belongs_to_follows_its_name():
    grouper = RunGrouper()
    assert len(grouper.groups(ROWS[:2], NAME)) == 1
    renamed = replace(ROWS[1], notes=RunNotes(name="baseline"))  # the configuration is the same
    assert [group.label for group in grouper.groups([ROWS[0], renamed], NAME)] == [
        "cart_pole", "baseline",
    ]  # fmt: skip
