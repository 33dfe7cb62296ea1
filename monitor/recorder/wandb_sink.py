"""Weights & Biases, by its own package; `WANDB_MODE=offline` and its other variables hold."""

from __future__ import annotations

import os
from typing import Any

import wandb

from ...shared import Metric
from ...shared.rows.row_batch import RowBatch
from ...shared.runs.owners import make_private_folder
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from .rows import rows_of_batch


class WandbSink:
    """One run there for the run here."""

    def __init__(self, run: Run) -> None:
        make_private_folder(run.folder / "wandb")  # of wandb's choice: no link may stand there
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "operant"),
            id=run.id,
            name=run.id,
            config=run.manifest().get("config"),
            dir=str(run.folder),
            resume="allow",
            settings=wandb.Settings(console="off", silent=True, x_disable_stats=True),
        )
        self._defined: set[Metric] = set()
        self._run.define_metric("*", step_metric="step")

    def take(self, batch: RowBatch, metrics: list[Metric]) -> None:
        for metric in metrics:
            if metric.step_metric and metric not in self._defined:
                self._run.define_metric(metric.name, step_metric=metric.step_metric)
                self._defined.add(metric)
        for row in rows_of_batch(batch, metrics):
            about = {"step": row.step, "iteration": row.iteration, "wall_s": row.wall_s}
            self._run.log({**row.metrics, **about})

    def close(self, is_success: bool) -> None:
        self._run.finish(exit_code=0 if is_success else 1)


def open_sink(run: Run, settings: RecorderSettings) -> WandbSink:
    return WandbSink(run)
