"""Whole runs of a configuration, and what they gave: speed, memory, and scores on the way."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from ...monitor.export.rows import ExportedRows
from ...shared.ranks import read_status
from ...shared.rows import ELAPSED_NS
from ...shared.run_folder import Run
from ..launching import begun, has_page_of, prepared_run

Series = NDArray[np.float64]

LOOK_EVERY_S = 0.2
PAUSES = ("time/evaluate_s", "time/checkpoint_s")  # in which nothing is trained
EVALUATION = "evaluation/return"


@dataclass(frozen=True)
class Side:
    """One of the configurations that are compared: where it is from, and what is changed in it."""

    name: str
    source: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A score after so many env steps and so many seconds of training, each [R]. The first
    iteration, in which loops are compiled, is before second 0; those in which the number of threads
    is chosen are among the others.
    """

    env_steps: Series
    train_s: Series
    score: Series

    def mean_up_to(self, place: Series, end: float) -> float:
        """Of the scores in the last tenth before `end` along `place`, one of the two; the newest
        before that where there are none in it, NaN where there never was one.
        """
        return mean_up_to(place, self.score, end)


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


def mean_up_to(place: Series, score: Series, end: float) -> float:
    """As `Curve.mean_up_to`, of a score at each `place`, both [R]."""
    known = (place <= end) & ~np.isnan(score)
    among = known & (place > 0.9 * end)
    if among.any():
        return float(score[among].mean())
    return float(score[known][-1]) if known.any() else float("nan")


def run_trial(side: Side, seed: int, env_steps: int, score: str) -> Trial:
    """Train to the end in a process of its own. What ends this one, Ctrl-C, SIGTERM or anything
    that cannot be caught, ends that in good order.

    Raises UsageError where the configuration does not hold.
    """
    overrides = (*side.overrides, f"seed={seed}", f"total_env_steps={env_steps}")
    name = f"compare-{Path(side.name).stem}-{seed}"
    prepared, process = begun(
        partial(prepared_run, side.source, overrides, name, None), stops_with_us=True
    )
    run, peak_bytes, is_locked = prepared.run, 0, True
    try:
        while process.poll() is None:
            peak_bytes = max(peak_bytes, resident_bytes(process.pid))
            if is_locked and has_page_of(run, process):
                prepared.lock.release()  # the trainer has its own by now
                is_locked = False
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_EVERY_S)
    except (KeyboardInterrupt, SystemExit):
        process.terminate()
        process.wait()
        raise
    finally:
        if is_locked:
            prepared.lock.release()
    if process.returncode:
        failure = read_status(run).message or f"it ended with exit code {process.returncode}"
        if process.returncode < 0:
            failure = f"it was killed by {signal.Signals(-process.returncode).name}"
        return Trial(side.name, seed, run.id, failure)
    return measured(side, seed, run, peak_bytes, score)


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
    columns = columns_of(run)
    is_iteration = ~np.isnan(columns.get("time/learn_s", np.zeros(0)))
    if is_iteration.sum() < 2:
        return Trial(side.name, seed, run.id, "it has fewer than two iterations")
    rows = {name: column[is_iteration] for name, column in columns.items()}
    nothing = np.full(len(rows["env_steps"]), np.nan)
    seconds = {name: column for name, column in rows.items() if name.startswith("time/")}
    train_s = rows["elapsed_s"] - np.nancumsum(sum(seconds[name] for name in PAUSES))
    train_s -= train_s[0]
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


def columns_of(run: Run, names: Collection[str] | None = None) -> dict[str, Series]:
    """Every metric of a run by name, or those of `names` that it has, with `env_steps` and
    `elapsed_s`: a number for each row, NaN where it has none.
    """
    rows = ExportedRows(run)
    try:
        parts = list(_columns(rows, names))
    finally:
        rows.close()
    return {
        name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else {})
    }


def _columns(rows: ExportedRows, names: Collection[str] | None) -> Iterator[dict[str, Series]]:
    wanted = [
        (place, metric.name)
        for place, metric in enumerate(rows.metrics)
        if names is None or metric.name in names
    ]
    for batch in rows:
        values = np.full((len(rows.metrics), len(batch)), np.nan)
        values[batch.places] = batch.values
        yield {
            **{name: values[place].copy() for place, name in wanted},
            "env_steps": batch.env_steps.astype(np.float64),
            "elapsed_s": batch.heads[ELAPSED_NS] / 1e9,
        }
