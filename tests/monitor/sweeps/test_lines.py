"""A sweep as lines."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from sweeping import made_up_table

from operant.monitor.render.columns import draw_head, draw_row, fit_columns, table_lines
from operant.monitor.sweeps.lines import (
    draw_importances,
    draw_values,
    ranked,
    summary,
    trial_columns,
)
from operant.shared.runs.sweep_table import SweepObjective, with_best


def drawn(table, width, trials=None, state="running"):
    """The head and the rows of trials as texts."""
    fitted = fit_columns(trial_columns(table, state), width)
    trials = table.trials if trials is None else trials
    lines = [draw_head(fitted), *(draw_row(fitted, trial) for trial in trials)]
    return [text_of(line) for line in lines]


def text_of(line):
    return "".join(text for text, _ in line)


def test_what_goes_on_stands_first_then_the_best():
    # 0, 1, 2 finished with 100, 110, 120; 3 runs, 4 was pruned, 5 failed
    assert [trial.number for trial in ranked(made_up_table())] == [3, 2, 1, 0, 4, 5]
    assert [trial.number for trial in ranked(made_up_table(), "number")] == [0, 1, 2, 3, 4, 5]


def test_where_less_is_better_the_least_stands_first():
    objectives = (SweepObjective("loss/value", False),)
    trials = with_best(made_up_table().trials, objectives)
    table = made_up_table(objectives=objectives, trials=trials)
    assert [trial.number for trial in ranked(table) if trial.state == "finished"] == [0, 1, 2]


def test_the_front_stands_before_the_others():
    table = made_up_table(num_objectives=2)  # more return, but more seconds: all are on the front
    assert [trial.number for trial in table.best()] == [0, 1, 2]
    beaten = replace(table.trials[2], scores=(115.0, 9.0), is_best=False)
    trials = (*table.trials[:2], beaten, *table.trials[3:])
    order = [trial.number for trial in ranked(replace(table, trials=trials))]
    assert order == [3, 1, 0, 2, 4, 5]


@pytest.mark.parametrize("score", [(math.nan,), ()])
def test_a_score_that_is_no_number_stands_behind_all_others(score):
    scores = [(-120.0,), score, (-110.0,), (-130.0,)]  # of 0 to 3; below 0, where none is nothing
    finished = [
        replace(made_up_table().trials[0], number=number, scores=each, is_best=False)
        for number, each in enumerate(scores)
    ]
    table = replace(made_up_table(), trials=tuple(finished))
    assert [trial.number for trial in ranked(table)] == [2, 0, 3, 1]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("objectives", [1, 2])
def test_every_row_is_as_wide_as_the_head(width, objectives):
    head, *lines = drawn(made_up_table(num_objectives=objectives), width)
    assert {len(line) for line in lines} == {len(head)}
    assert "learning_rate" in head


def test_the_key_that_matters_most_has_the_first_column():
    (head,) = drawn(made_up_table(), 120, [])
    assert head.index("learning_rate") < head.index("num_epochs") < head.index("activation")
    assert "evaluation/return↑" in head
    assert "return↑" in drawn(made_up_table(), 50, [])[0]


def test_a_row_says_what_a_trial_gave():
    rows = drawn(made_up_table(), 160)[1:]
    assert rows[2].startswith("★   2 ✓ finished")
    assert "120.0" in rows[2]
    assert "42.0%" in rows[3]
    assert "99.00" in rows[3]
    assert "worse than the median" in rows[4]
    assert "★" not in rows[4]


def test_a_printed_table_has_words_without_symbols():
    table = made_up_table()
    head, *rows = table_lines(trial_columns(table, "running"), ranked(table), None)
    assert head.split()[:4] == ["trial", "state", "evaluation/return↑", "done"]
    assert rows[0].split()[:4] == ["3", "running", "99.00", "42.0%"]
    assert rows[1].split()[:4] == ["★", "2", "finished", "120.0"]


def test_a_waiting_trial_may_have_but_some_values():
    table = made_up_table()
    waiting = replace(table.trials[0], state="waiting", scores=None, values={"odd": 1})
    assert "○ waiting" in drawn(table, 120, [waiting])[1]


def test_a_trial_of_a_sweep_that_ended_is_unfinished():
    table = made_up_table()
    row = drawn(table, 120, [table.trials[3]], "interrupted")[1]
    assert "○ unfinished" in row
    assert "42.0%" not in row


def test_columns_stand_below_their_names():
    head, row = drawn(made_up_table(), 120, [made_up_table().trials[2]])
    end = head.index("return↑") + len("return↑")
    assert row[:end].endswith("120.0")


def test_the_summary_counts():
    assert summary(made_up_table(), "running") == (
        "running, 5 of 40 trials, 1 running, 1 pruned, 1 failed; best evaluation/return 120.0"
    )
    assert summary(made_up_table(num_objectives=2), "running").endswith("; 3 on the Pareto front")
    assert summary(made_up_table(), "running", 45) == "running, 5 of 40 trials; best 120.0"
    assert summary(made_up_table(), "running", 25) == "running, 5 of 40 trials"
    assert summary(made_up_table(), "running", 10) == "running"
    assert ", 1 unfinished, " in summary(made_up_table(), "interrupted")


def test_shares_are_bars_the_greatest_first():
    lines = [text_of(line) for line in draw_importances(made_up_table(), 100)]
    assert lines[0] == " what matters for evaluation/return"
    assert [line.split()[0] for line in lines[1:]] == [
        "ppo.learning_rate", "ppo.num_epochs", "policy.activation"]  # fmt: skip
    assert "70.0%" in lines[1]
    assert draw_importances(made_up_table(importances={}), 100) == []


def test_all_of_a_trial_is_told():
    table = made_up_table()
    lines = [text_of(line) for line in draw_values(table.trials[5], table, 60)]
    text = "\n".join(lines)
    assert all(key in text for key in table.parameters)
    assert "it was killed by SIGKILL" in text
    assert "run-5" in text
    assert all(len(line) <= 60 for line in lines)
