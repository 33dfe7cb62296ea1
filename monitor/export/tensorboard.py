"""Rows as TensorBoard event files, by the tensorboard package's own writer."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ...shared import Metric
from ...shared.rows.curves import Curves
from ...shared.rows.row_batch import RowBatch, is_written


def write_tensorboard(curves: Curves, folder: Path) -> int:
    """A scalar for each value that was written, at the value of its metric's step metric as of that
    row; without one at its env steps, and where there are none at its publish. Returns how many
    rows there were.
    """
    writer, steps, num_rows = EventFileWriter(str(folder)), Steps(), 0
    try:
        for batch in curves.batches():
            write_batch(writer, batch, curves.metrics, steps)
            num_rows += len(batch)
    finally:
        writer.close()
    return num_rows


class Steps:
    """The newest value of each metric that others are drawn over."""

    def __init__(self) -> None:
        self._latest: dict[str, float] = {}
        self._step_metrics: dict[str, str] = {}

    def look_at(self, metrics: list[Metric]) -> None:
        """Update the step metrics, which may change during a run."""
        self._step_metrics = {metric.name: metric.step_metric for metric in metrics}
        for metric in metrics:
            if metric.step_metric:
                self._latest.setdefault(metric.step_metric, math.nan)

    def take(self, written: list[tuple[str, float]]) -> None:
        for name, value in written:
            if name in self._latest:
                self._latest[name] = value

    def step_of(self, name: str, otherwise: int) -> int:
        value = self._latest.get(self._step_metrics[name], math.nan)
        return int(value) if math.isfinite(value) and abs(value) < 2**63 else otherwise


def write_batch(
    writer: EventFileWriter, batch: RowBatch, metrics: list[Metric], steps: Steps
) -> None:
    """The rows of `batch`, whose places are those of `metrics`."""
    steps.look_at(metrics)
    values = np.ascontiguousarray(batch.values.T)
    names = [metrics[place].name for place in batch.places]
    heads = batch.heads.T.tolist()
    for head, row, mask in zip(heads, values, is_written(values), strict=True):
        publish, wall_ns, _, _, env_steps, _ = head
        written = [(names[place], float(row[place])) for place in np.flatnonzero(mask)]
        steps.take(written)
        by_step: dict[int, list[Summary.Value]] = {}
        for name, value in written:
            step = steps.step_of(name, env_steps if env_steps >= 0 else publish)
            by_step.setdefault(step, []).append(Summary.Value(tag=name, simple_value=value))
        for step, summary in by_step.items():
            event = Event(wall_time=wall_ns / 1e9, step=step, summary=Summary(value=summary))
            writer.add_event(event)
