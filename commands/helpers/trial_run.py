"""Trials: ordinary runs with settings of their own, started, watched and evaluated by their rows.

Sweeps and comparisons consist of trials.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...monitor.export.rows import ExportedRows
from ...shared.errors import CheckpointError, OperantError
from ...shared.page.requests import give_reason, send_request
from ...shared.rows.rows import ELAPSED_NS
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus, read_status, trainer_of
from .launching import Prepared, begun, has_page_of, prepared_run

Series = NDArray[np.float64]

LEARNING = "time/learn_s"  # only the rows of iterations have this metric
PAUSES = ("time/evaluate_s", "time/checkpoint_s")  # phases in which nothing is trained


class TrialRun:
    """A run while it trains. If another sweeper started it, only its folder is known."""

    def __init__(
        self,
        run: Run,
        prepared: Prepared | None = None,
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.run = run
        self._prepared, self._process = prepared, process
        self._is_stopped = False

    @classmethod
    def begin(
        cls,
        source: str,
        overrides: tuple[str, ...],
        name: str,
        run_id: str = "",
        more: Mapping[str, Any] | None = None,
        stops_with_us: bool = False,
    ) -> TrialRun:
        """Train as `operant train` would, under `run_id` if it is given, so that the caller knows
        the id before the run exists. With `stops_with_us` the run stops in good order when this
        process ends. Raises ConfigError if the configuration is not valid, and other UsageErrors.
        """
        prepare = partial(prepared_run, source, overrides, name, None, more=more, run_id=run_id)
        return cls._begun(prepare, stops_with_us)

    @classmethod
    def go_on(cls, run: Run) -> TrialRun | None:
        """Continue from the newest checkpoint; None if there is none that can be continued."""
        try:
            return cls._begun(partial(prepared_run, None, (), None, run.id))
        except CheckpointError:
            return None

    @classmethod
    def _begun(cls, prepare: Any, stops_with_us: bool = False) -> TrialRun:
        prepared, process = begun(prepare, stops_with_us=stops_with_us)
        return cls(prepared.run, prepared, process)

    @property
    def pid(self) -> int:
        """The process id of the trainer that this process started."""
        assert self._process
        return self._process.pid

    def status(self) -> RunStatus:
        return read_status(self.run)

    def is_over(self) -> bool:
        """Whether the process has ended. Also releases the run's lock once the trainer holds its
        own or has ended.
        """
        if self._process is None:
            return trainer_of(self.run) is None
        is_gone = self._process.poll() is not None
        if self._prepared and (is_gone or has_page_of(self.run, self._process)):
            self._prepared.lock.release()
            self._prepared = None
        return is_gone

    def stop(self, reason: str = "") -> None:
        """Request a stop in good order, once. The run's status then shows `reason`, or else the
        signal.
        """
        if self._is_stopped:
            return
        self._is_stopped = True
        if reason:
            give_reason(self.run, reason)
        if self._process:
            self._process.terminate()
            return
        with contextlib.suppress(OperantError):  # the run has just ended
            send_request(self.run, "stop")

    def failure(self) -> str:
        """Why an ended run has no result; empty if it finished."""
        status = self.status()
        if status.state == "finished":
            return ""
        code = self._process.returncode if self._process else None
        if code is not None and code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        if status.state == "stopped":
            return f"it was stopped {status.message}".rstrip()
        return status.message or f"it {status.state}"


def columns_of(run: Run, names: Collection[str] | None = None) -> dict[str, Series]:
    """Every metric of a run by name, or those among `names` that it has, with `env_steps` and
    `elapsed_s`: one number per row, NaN in rows without the metric.
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


def iterations_of(columns: dict[str, Series]) -> tuple[dict[str, Series], Series]:
    """The rows of iterations, and the seconds of training until each of them [R], without pauses.
    The first iteration, in which loops are compiled, is before second 0.
    """
    is_iteration = ~np.isnan(columns.get(LEARNING, np.zeros(0)))
    if not is_iteration.any():
        return {}, np.zeros(0)
    rows = {name: column[is_iteration] for name, column in columns.items()}
    pauses_s = sum(np.nan_to_num(rows[name]) for name in PAUSES if name in rows)
    train_s = rows["elapsed_s"] - np.cumsum(pauses_s + np.zeros(len(rows["elapsed_s"])))
    return rows, train_s - train_s[0]


def mean_up_to(place: Series, score: Series, end: float) -> float:
    """The mean of the scores in the last tenth before `end` along `place`, both [R]. If there are
    none, the newest score before it; NaN if there is no score at all.
    """
    known = (place <= end) & ~np.isnan(score)
    among = known & (place > 0.9 * end)
    if among.any():
        return float(score[among].mean())
    return float(score[known][-1]) if known.any() else float("nan")
