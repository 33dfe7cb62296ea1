"""The results of a sweep: from Optuna's study into the file that others read, and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import optuna
from optuna.trial import FrozenTrial, TrialState

from ...monitor.render.formatting import format_value
from ...shared.runs.sweep_folder import Sweep
from ...shared.runs.sweep_table import SweepTable, SweepTrial, with_best
from ...shared.runs.sweep_table import TrialState as State
from .definition import Definition
from .open_trial import MACHINE, MESSAGE, RUNS
from .parameters import Value, written
from .study import importances

STATES: dict[TrialState, State] = {
    TrialState.WAITING: "waiting",
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "finished",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
}


class Going(NamedTuple):
    """The newest value and the progress of a trial that is running."""

    latest: float | None
    done: float


class TableWriter:
    """Writes the table where anything in it has changed. What parameters matter is worked out anew
    once another trial has finished.
    """

    def __init__(self, sweep: Sweep, definition: Definition, study: optuna.Study) -> None:
        self._sweep, self._definition, self._study = sweep, definition, study
        self._num_finished = -1
        self._importances: dict[str, dict[str, float]] = {}
        self._written = b""

    def write(self, going: Mapping[int, Going] | None = None) -> SweepTable:
        trials = self._study.get_trials(deepcopy=False)
        num_finished = sum(trial.state == TrialState.COMPLETE for trial in trials)
        if num_finished != self._num_finished:
            self._num_finished = num_finished
            self._importances = importances(self._study, self._definition)
        definition, going = self._definition, going or {}
        rows = [_row(trial, going.get(trial.number), definition.machine) for trial in trials]
        table = SweepTable(
            name=self._sweep.name,
            config=definition.source,
            objectives=definition.objectives,
            parameters={one.key: one.in_words() for one in definition.parameters},
            num_wanted=definition.num_trials,
            parallel=definition.parallel,
            num_seeds=definition.num_seeds,
            trials=with_best(rows, definition.objectives),
            importances=self._importances,
        )
        data = json.dumps(table.as_json(), allow_nan=False).encode()
        if data != self._written:
            self._sweep.write_table(data)
            self._written = data
        return table


def line_of(trial: FrozenTrial, study: optuna.Study, definition: Definition) -> str:
    """`trial 3: 412.5, the best so far; ppo.learning_rate=0.0012`."""
    state, values = STATES[trial.state], in_words(trial.params)
    if trial.state == TrialState.COMPLETE:
        best = [trial.number for trial in study.best_trials]
        words = ", ".join(format_value(value) for value in trial.values)
        many = len(definition.objectives) > 1
        if trial.number in best:
            alone = "the best so far" if len(best) == 1 else f"as good as trial {best[0]}"
            words += ", on the Pareto front" if many else f", {alone}"
    else:
        words = f"{state}: {trial.user_attrs.get(MESSAGE, '')}"
    return f"trial {trial.number}: {words}; {values}"


def in_words(values: Mapping[str, Value]) -> str:
    return " ".join(f"{key}={written(value)}" for key, value in values.items())


def _row(trial: FrozenTrial, going: Going | None, here: str) -> SweepTrial:
    machine, message = (trial.user_attrs.get(key, "") for key in (MACHINE, MESSAGE))
    if machine != here and machine:
        message = f"on {machine}{message and ': '}{message}"
    waits = trial.state == TrialState.WAITING
    values = trial.system_attrs.get("fixed_params", {}) if waits else trial.params
    return SweepTrial(
        number=trial.number,
        state=STATES[trial.state],
        values=values,
        scores=tuple(trial.values) if trial.values else None,
        latest=going.latest if going else None,
        done=going.done if going else float(trial.state == TrialState.COMPLETE),
        runs=tuple(trial.user_attrs.get(RUNS, {}).values()),
        message=message,
    )
