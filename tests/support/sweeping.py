"""Sweeps of runs that take seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

from operant.shared.processes.lock import RunLock
from operant.shared.runs.sweep_folder import Sweep, new_sweep
from operant.shared.runs.sweep_table import SweepObjective, SweepTable, SweepTrial, with_best

BASE = ("sweep", "cart_pole_ppo", "--set", "num_envs=8", "--set", "num_threads=1",
        "--set", "evaluation.num_episodes=5")  # fmt: skip
RATE = "ppo.learning_rate=log:1e-4:1e-2"


def start_sweep(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "operant", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def trial_of(sweep: Sweep, number: int) -> SweepTrial | None:
    """A trial as the table has it; None while there is none."""
    if not sweep.table_path.exists():
        return None
    return next((t for t in sweep.table().trials if t.number == number), None)


def made_up_table(num_trials: int = 6, num_objectives: int = 1, **fields: object) -> SweepTable:
    """The same every time: scores rise with the number; the last three run, were pruned, failed."""
    names = (SweepObjective("evaluation/return", True), SweepObjective("seconds", False))[
        :num_objectives
    ]
    trials = []
    for number in range(num_trials):
        values = {"ppo.learning_rate": 1e-4 * (number + 1), "ppo.num_epochs": 1 + number % 4,
                  "policy.activation": ("tanh", "relu")[number % 2]}  # fmt: skip
        scores = (100.0 + 10 * number, 5.0 + number)[:num_objectives]
        state, message = "finished", ""
        if number == num_trials - 3:
            trials.append(SweepTrial(number, "running", values, latest=99.0, done=0.42,
                                     runs=(f"run-{number}",)))  # fmt: skip
            continue
        if number == num_trials - 2:
            state, message = "pruned", "worse than the median of the others"
        if number == num_trials - 1:
            state, scores, message = "failed", None, "it was killed by SIGKILL"
        runs = (f"run-{number}",)
        trials.append(
            SweepTrial(number, state, values, scores, runs=runs, message=message, done=1.0)
        )
    table = {
        "name": "search", "config": "cart_pole_ppo", "objectives": names, "num_wanted": 40,
        "parameters": {"ppo.num_epochs": "1 to 8, whole", "ppo.learning_rate": "0.001 to 1, log",
                       "policy.activation": "tanh, relu"},
        "parallel": 2, "num_seeds": 1, "trials": with_best(trials, names),
        "importances": {"evaluation/return": {
            "ppo.learning_rate": 0.7, "ppo.num_epochs": 0.2, "policy.activation": 0.1}},
    }  # fmt: skip
    return SweepTable(**(table | fields))


def make_sweep(name: str, table: SweepTable | None = None) -> Sweep:
    """A sweep on the disk that nobody goes on with."""
    sweep = new_sweep(name)
    RunLock(sweep.lock_path).release()
    sweep.write_table(json.dumps(replace(table or made_up_table(), name=name).as_json()).encode())
    return sweep
