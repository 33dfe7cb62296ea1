"""What is recorded of a run: all values as they stood at a publish, every few seconds."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...shared import History, Metric, Snapshot
from ...shared.page.history import Floats, Integers
from ...shared.page.layout import NEVER, NEVER_BITS
from ...shared.rows.rows import RowBatch


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


# Before the first row of a file.
NOTHING = Row(0, -math.inf, -math.inf, -1, -1)


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


def rows_of(history: History) -> list[Row]:
    """All rows of `history`, each with what was written in it and nothing carried on."""
    columns = {name: history.series(name).mean for name in history.names}
    return _rows(history, np.arange(len(history)), columns)


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


def rows_between(history: History, after: Row, newest: Row, every_s: float) -> list[Row]:
    """Rows from `history` for the time between `after` and `newest`, both left out: about
    `every_s` apart, counted back from `newest`.

    Where the history holds the mean of several publishes, a row has that mean.
    """
    places = chosen_places(history.publish, history.elapsed_s, after, newest, every_s)
    if not len(places):
        return []
    columns = {name: _last_written(history.series(name).mean) for name in history.names}
    return _rows(history, places, columns)


def chosen_places(
    publish: Integers, elapsed_s: Floats, after: Row, newest: Row, every_s: float
) -> Integers:
    """Indices of the history's rows that become rows: the newest in each stretch of `every_s`
    before `newest`, none nearer to `after` than that.
    """
    is_between = (publish > after.publish) & (publish < newest.publish)
    is_between &= elapsed_s >= after.elapsed_s + every_s
    places = np.flatnonzero(is_between)
    stretch = np.floor((newest.elapsed_s - elapsed_s[places]) / every_s)
    is_last = np.append(stretch[1:] != stretch[:-1], True)[: len(places)]
    return places[is_last & (stretch >= 1)]


def _rows(history: History, places: Integers, columns: dict[str, Floats]) -> list[Row]:
    return [
        Row(
            int(history.publish[place]),
            float(history.wall_s[place]),
            float(history.elapsed_s[place]),
            int(history.iteration[place]),
            int(history.env_steps[place]),
            {name: float(column[place]) for name, column in columns.items()},
        )
        for place in places
    ]


def _last_written(values: Floats) -> Floats:
    """`values` [R] with what was not written replaced by the last value before it."""
    values = np.ascontiguousarray(values)
    is_written = values.view(np.uint64) != NEVER_BITS
    places = np.where(is_written, np.arange(len(values)), 0)
    filled: Floats = values[np.maximum.accumulate(places)]
    return filled
