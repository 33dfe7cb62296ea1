"""A sweep as lines."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from sweeping import made_up_table

from operant.monitor.render.lines import line_width
from operant.monitor.sweeps.lines import (
    columns_of,
    draw_head,
    draw_importances,
    draw_trial,
    draw_values,
    ranked,
    summary,
)
from operant.shared.runs.sweep_table import SweepObjective, with_best


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
def test_every_row_is_as_wide_as_the_screen(width, objectives):
    table = made_up_table(num_objectives=objectives)
    lines = [
        draw_head(table, width),
        *(draw_trial(t, table, "running", width) for t in table.trials),
    ]
    assert {line_width(line) for line in lines} == {width}
    assert len(columns_of(table, width)[0]) >= 1


def test_the_key_that_matters_most_has_the_first_column():
    head = text_of(draw_head(made_up_table(), 120))
    assert head.index("learning_rate") < head.index("num_epochs") < head.index("activation")
    assert "evaluation/return↑" in head
    assert "return↑" in text_of(draw_head(made_up_table(), 60))


def test_a_row_says_what_a_trial_gave():
    table = made_up_table()
    row = text_of(draw_trial(table.trials[2], table, "running", 120))
    assert row.startswith(" ★    2  ✓ finished")
    assert "120.0" in row
    assert "42.0%" in text_of(draw_trial(table.trials[3], table, "running", 120))
    assert "99.00" in text_of(draw_trial(table.trials[3], table, "running", 120))
    assert "worse than the median" in text_of(draw_trial(table.trials[4], table, "running", 160))
    assert "★" not in text_of(draw_trial(table.trials[4], table, "running", 120))


def test_a_waiting_trial_may_have_but_some_values():
    table = made_up_table()
    waiting = replace(table.trials[0], state="waiting", scores=None, values={"odd": 1})
    assert "○ waiting" in text_of(draw_trial(waiting, table, "running", 120))


def test_a_trial_that_nobody_goes_on_with_is_unfinished():
    table = made_up_table()
    row = text_of(draw_trial(table.trials[3], table, "interrupted", 120))
    assert "○ unfinished" in row
    assert "42.0%" not in row


def test_columns_stand_below_their_names():
    table = made_up_table()
    head = text_of(draw_head(table, 120))
    row = text_of(draw_trial(table.trials[2], table, "running", 120))
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
