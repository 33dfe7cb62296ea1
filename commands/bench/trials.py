"""Whole runs of a configuration, and what they gave: speed, memory, and scores on the way."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from ...shared.runs.run_folder import Run
from ..helpers.trial_run import PAUSES, Series, TrialRun, columns_of, iterations_of

LOOK_EVERY_S = 0.2
EVALUATION = "evaluation/return"


@dataclass(frozen=True)
class Side:
    """One of the configurations that are compared: where it is from, and what is changed in it."""

    name: str
    source: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A score after given env steps and after given seconds of training, each [R]."""

    env_steps: Series
    train_s: Series
    score: Series


@dataclass(frozen=True)
class Trial:
    """A run of a side. `failure` says in one line why it gave nothing."""

    side: str
    seed: int
    run: str
    failure: str = ""
    env_steps_per_s: float = float("nan")
    startup_s: float = float("nan")
    peak_bytes: int = 0
    evaluation: float = float("nan")
    phases: dict[str, float] = field(default_factory=dict)
    curve: Curve = field(default_factory=lambda: Curve(*np.zeros((3, 0))))


def run_trial(side: Side, seed: int, env_steps: int, score: str) -> Trial:
    """Train to the end in a process of its own. What ends this one, Ctrl-C, SIGTERM or anything
    that cannot be caught, ends that in good order.

    Raises UsageError where the configuration does not hold.
    """
    overrides = (*side.overrides, f"seed={seed}", f"total_env_steps={env_steps}")
    name = f"compare-{Path(side.name).stem}-{seed}"
    trial = TrialRun.begin(side.source, overrides, name, stops_with_us=True)
    peak_bytes = 0
    try:
        while not trial.is_over():
            peak_bytes = max(peak_bytes, resident_bytes(trial.pid))
            time.sleep(LOOK_EVERY_S)
    except (KeyboardInterrupt, SystemExit):
        trial.stop()
        while not trial.is_over():
            time.sleep(LOOK_EVERY_S)
        raise
    if failure := trial.failure():
        return Trial(side.name, seed, trial.run.id, failure)
    return measured(side, seed, trial.run, peak_bytes, score)


def resident_bytes(pid: int) -> int:
    """Main memory of a process and all that it began, as far as they can be seen."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += each.memory_info().rss
    return total


def measured(side: Side, seed: int, run: Run, peak_bytes: int, score: str) -> Trial:
    """What the rows of a finished run say."""
    rows, train_s = iterations_of(columns_of(run))
    if len(train_s) < 2:
        return Trial(side.name, seed, run.id, "it has fewer than two iterations")
    nothing = np.full(len(train_s), np.nan)
    seconds = {name: column for name, column in rows.items() if name.startswith("time/")}
    evaluations = rows.get(EVALUATION, nothing)
    evaluations = evaluations[~np.isnan(evaluations)]
    return Trial(
        side.name, seed, run.id,
        env_steps_per_s=float((rows["env_steps"][-1] - rows["env_steps"][0]) / train_s[-1]),
        startup_s=float(rows["elapsed_s"][0]),
        peak_bytes=peak_bytes,
        evaluation=float(evaluations[-1]) if len(evaluations) else float("nan"),
        phases={
            name.removeprefix("time/").removesuffix("_s"): float(np.nansum(column[1:]))
            for name, column in seconds.items()
            if name not in PAUSES
        },
        curve=Curve(rows["env_steps"], train_s, rows.get(score, nothing)),
    )  # fmt: skip
