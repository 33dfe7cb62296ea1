"""Rows as sinks take them: the values of one publish by the names of their metrics."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...shared import Metric, Snapshot
from ...shared.page.layout import NEVER, NEVER_BITS
from ...shared.rows.row_batch import RowBatch


@dataclass(frozen=True)
class Row:
    """Each metric's last value at one publish, `is_never` before its first.

    `elapsed_s` is since the run began; negative counts do not apply.
    """

    publish: int
    wall_s: float
    elapsed_s: float
    iteration: int
    env_steps: int
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """The step in other programs: the env steps, or the publish if there are none."""
        return self.env_steps if self.env_steps >= 0 else self.publish

    @property
    def written(self) -> dict[str, float]:
        """The metrics that have a value, be it NaN."""
        return {name: value for name, value in self.metrics.items() if not is_never(value)}


def is_never(value: float) -> bool:
    """Whether `value` stands for a metric that was never written."""
    return value != value and struct.pack("<d", value) == NEVER


def row_of(snapshot: Snapshot) -> Row:
    return Row(
        snapshot.publish,
        snapshot.wall_ns / 1e9,
        snapshot.monotonic_ns / 1e9,
        snapshot.iteration,
        snapshot.env_steps,
        snapshot.metrics,
    )


def rows_of_batch(batch: RowBatch, metrics: Sequence[Metric]) -> list[Row]:
    """Each row of `batch`, with what was written in it; its places are those of `metrics`."""
    names = [metrics[place].name for place in batch.places]
    is_written = np.ascontiguousarray(batch.values.T).view(np.uint64) != NEVER_BITS
    rows = []
    for head, values, mask in zip(batch.heads.T.tolist(), batch.values.T, is_written, strict=True):
        publish, wall_ns, elapsed_ns, iteration, env_steps, _ = head
        written = {names[place]: float(values[place]) for place in np.flatnonzero(mask)}
        rows.append(Row(publish, wall_ns / 1e9, elapsed_ns / 1e9, iteration, env_steps, written))
    return rows
