"""Optuna's side: a journal that outlives kills, and what is drawn and thought to matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from optuna.trial import TrialState

from operant.commands.sweep import study as optunas
from operant.commands.sweep.definition import checked_definition, read_definition, write_definition
from operant.commands.sweep.found_table import Going, TableWriter
from operant.commands.sweep.open_trial import SCORES, Scores, mean_up_to
from operant.commands.sweep.parameters import Parameter, parse_parameter
from operant.commands.sweep.study import ask, asked_before, enqueue, open_study
from operant.commands.sweep.sweeper import Sweeper
from operant.shared.errors import RunFolderError, UsageError
from operant.shared.runs.sweep_folder import new_sweep
from operant.trainer.config.files import load_config

RANGES = (
    "ppo.learning_rate=log:1e-4:1e-2",
    "ppo.num_epochs=int:1:8",
    "policy.activation=tanh,relu",
)


@pytest.fixture
def sweep():
    return new_sweep("search")


def definition_of(*, objectives=(), source="cart_pole_ppo", **numbers):
    numbers = {"num_trials": 9, "parallel": 1, "num_seeds": 1, "prune_after": 1} | numbers
    parameters = tuple(map(parse_parameter, RANGES))
    return checked_definition(source, (), parameters, objectives, True, **numbers)


def test_a_definition_is_read_as_it_was_written(sweep):
    definition = definition_of(objectives=["episode/return", "seconds"], num_seeds=3)
    write_definition(sweep, definition, {"created": "today", "git_commit": None})
    again = read_definition(sweep)
    assert repr(again) == repr(definition)  # choices have NaN for ends
    assert list(again.seeds) == [1, 2, 3]
    assert not again.is_pruned  # of two objectives nothing is


def test_an_objective_says_which_way_is_better_where_its_metric_does_not():
    def ways(*objectives):
        return [o.is_maximized for o in definition_of(objectives=objectives).objectives]

    assert ways() == [True]
    assert ways("evaluation/return", "seconds", "loss/value") == [True, False, False]
    assert ways("episode/length", "max:seconds") == [True, True]
    assert ways("min:episode/length") == [False]


@pytest.mark.parametrize("where", ["overrides", "choices", "file"])
def test_code_of_a_sweep_that_its_user_did_not_begin_here_is_refused(
    where, sweep, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_module.py").write_text("raise RuntimeError('imported')")
    env, definition = "native:own_module:make", definition_of()
    if where == "overrides":
        definition = replace(definition, overrides=(f"env={env}",))
    elif where == "choices":
        parameter = Parameter("env", choices=("cart_pole", env))
        definition = replace(definition, parameters=(parameter,))
    else:
        (tmp_path / "mine.toml").write_text(f'env = "{env}"\n')
        definition = replace(definition, source="./mine.toml")
    write_definition(sweep, definition)
    assert read_definition(sweep).num_trials == 9  # this user begins it here
    text = sweep.definition_path.read_text()
    assert "code_owner" in text
    sweep.definition_path.write_text(text.replace("code_owner", "other"))
    with pytest.raises(UsageError, match=r"native:own_module:make would run own_module .*--trust"):
        read_definition(sweep)


@pytest.mark.parametrize("source", ["mine.toml", "/tmp/mine.toml", "../mine.toml"])
def test_a_stored_sweep_begins_with_a_preset_or_with_its_own_file(
    source, sweep, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path / "mine.toml", tmp_path.parent / "mine.toml"):
        place.write_text('env = "cart_pole"\nalgorithm = "ppo"\n')
    definition = write_definition(sweep, definition_of())
    text = sweep.definition_path.read_text()
    changed = text.replace(f'source = "{definition.source}"', f'source = "{source}"')
    assert changed != text
    sweep.definition_path.write_text(changed)
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_definition(sweep)


def test_a_file_that_changes_later_changes_no_trial(sweep, tmp_path):
    file, base = tmp_path / "mine.toml", tmp_path / "base.toml"
    base.write_text('extends = "cart_pole_ppo_smoke"\nnum_envs = 16\n')
    file.write_text('extends = "base.toml"\nseed = 7\n')
    before = load_config(str(file))
    kept = write_definition(sweep, definition_of(source=str(file)))
    file.unlink()
    base.unlink()
    assert load_config(read_definition(sweep).source) == before
    assert (before.num_envs, before.seed) == (16, 7)
    assert kept.source != str(file)


def test_a_journal_whose_last_line_was_cut_off_is_used_on(sweep):
    definition = definition_of()
    study = open_study(sweep, definition)
    study.tell(ask(study, definition.parameters), 1.0)
    with sweep.journal_path.open("ab") as journal:
        journal.write(b'{"op_code":4,"worker_id":"half a li')
    study = open_study(sweep, definition)
    enqueue(study, {"ppo.num_epochs": 3})
    trial = ask(open_study(sweep, definition), definition.parameters)
    assert trial.number == 1
    assert trial.params["ppo.num_epochs"] == 3
    assert set(trial.params) == {"ppo.learning_rate", "ppo.num_epochs", "policy.activation"}


@pytest.mark.parametrize(
    "line", [b"5", b"{}", b"[]", b"null", b"no json", b'{"op_code": 99}', b"\0"]
)
def test_a_journal_with_a_line_that_is_none_is_one_error(sweep, line):
    definition = definition_of()
    study = open_study(sweep, definition)
    study.tell(ask(study, definition.parameters), 1.0)
    first, *others = sweep.journal_path.read_bytes().splitlines()
    sweep.journal_path.write_bytes(b"\n".join([first, line, *others]) + b"\n")
    with pytest.raises(RunFolderError, match=r"journal.log cannot be used: \w"):
        open_study(sweep, definition)


@pytest.mark.slow
def test_a_process_that_was_killed_while_it_wrote_is_not_waited_for_for_ever(sweep, monkeypatch):
    monkeypatch.setattr(optunas, "LOCK_GRACE_S", 3)
    definition = definition_of()
    open_study(sweep, definition)
    sweep.journal_path.with_name("journal.log.lock").touch()
    assert ask(open_study(sweep, definition), definition.parameters).number == 0


def test_a_trial_that_another_process_began_has_the_same_values(sweep):
    definition = definition_of()
    first = ask(open_study(sweep, definition), definition.parameters)
    study = open_study(sweep, definition)
    (frozen,) = study.get_trials()
    again = asked_before(study, frozen, definition.parameters)
    assert again.params == first.params
    assert again.number == first.number


def test_the_table_has_all_that_the_study_has(sweep):
    definition = definition_of()
    study = open_study(sweep, definition)
    for score in range(6):
        trial = ask(study, definition.parameters)
        study.tell(trial, float(score))
    failed = ask(study, definition.parameters)
    failed.set_user_attr("message", "no luck")
    study.tell(failed, state=TrialState.FAIL)
    running = ask(study, definition.parameters)
    enqueue(study, {"ppo.num_epochs": 3})
    TableWriter(sweep, definition, study).write({running.number: Going(7.5, 0.25)})
    table = sweep.table()
    assert [trial.state for trial in table.trials] == [
        *["finished"] * 6, "failed", "running", "waiting"]  # fmt: skip
    assert [trial.number for trial in table.best()] == [5]
    assert table.trials[6].message == "no luck"
    assert (table.trials[7].latest, table.trials[7].done) == (7.5, 0.25)
    assert table.trials[8].values == {"ppo.num_epochs": 3}
    shares = table.importances["evaluation/return"]
    assert set(shares) == {"ppo.learning_rate", "ppo.num_epochs", "policy.activation"}
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("storage", ["", "sqlite:///{}/trials.db"])
def test_machines_share_a_study_and_leave_each_other_their_trials(storage, tmp_path):
    storage = storage.format(tmp_path) or str(tmp_path)
    here, there = (
        replace(definition_of(num_trials=3), storage=storage, machine=name) for name in ("a", "b")
    )
    sweep, drawn = new_sweep("shared"), []
    for definition in (here, there):
        trial = ask(open_study(sweep, definition), definition.parameters)
        trial.set_user_attr("machine", definition.machine)
        trial.set_user_attr("runs", {"1": f"run-of-{definition.machine}"})
        trial.set_user_attr(SCORES, {str(seed): [7.0] for seed in definition.seeds})
        drawn.append(trial.params["ppo.learning_rate"])
    assert len(set(drawn)) == 2
    study = open_study(sweep, here)
    sweeper = Sweeper(sweep, here, study)
    sweeper._take_over()
    assert [trial.state for trial in study.get_trials()] == [
        TrialState.COMPLETE,
        TrialState.RUNNING,
    ]
    first, second = TableWriter(sweep, here, study).write().trials
    assert (first.runs, first.message) == (("run-of-a",), "")
    assert (second.runs, second.message) == (("run-of-b",), "on b")


def test_a_score_from_before_the_last_tenth_is_better_than_none():
    env_steps, score = np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, np.nan])
    assert mean_up_to(env_steps, score, 3.0) == 6.0
    assert mean_up_to(env_steps, score, 1.2) == 5.0
    assert np.isnan(mean_up_to(env_steps, score, 0.5))


def test_seconds_of_training_are_those_of_iterations_without_pauses_from_the_end_of_the_first():
    nan = np.nan
    columns = {
        "elapsed_s": np.array([30.0, 31.0, 36.0, 40.0]),
        "time/learn_s": np.array([20.0, nan, 1.0, 1.0]),  # the second row is no iteration
        "time/evaluate_s": np.array([0.0, nan, 3.0, 0.0]),
        "time/checkpoint_s": np.array([0.0, nan, nan, 0.5]),
    }
    assert Scores(columns["elapsed_s"], columns).seconds() == 6.5  # 40 - 30 - 3 - 0.5
    first = {name: column[:2] for name, column in columns.items()}
    assert np.isnan(Scores(first["elapsed_s"], first).seconds())
