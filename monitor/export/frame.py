"""All rows of a run in memory: as arrays, and as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ...shared import Metric
from ...shared.rows.curves import Curves
from ...shared.rows.levels import heads_of, spread_out
from ...shared.rows.row_batch import ELAPSED_NS, ENV_STEPS, Floats, Integers, is_written
from ...shared.runs.run_folder import Run
from .writing import column_names

if TYPE_CHECKING:
    import pandas as pd


def frame(run: Run) -> pd.DataFrame:
    """The columns of `operant export -o FILE.csv`: counts are integers, `time` has a time zone, and
    metrics are NaN in rows without them. Raises PageError.
    """
    import pandas as pd

    metrics, heads, values = all_rows(run)
    values[~is_written(values)] = np.nan
    publish, wall_ns, elapsed_ns, iteration, env_steps, _ = heads
    columns: dict[str, Any] = {
        "publish": publish,
        "time": pd.to_datetime(wall_ns, unit="ns", utc=True),
        "elapsed_s": elapsed_ns / 1e9,
        "iteration": _counted(iteration),
        "env_steps": _counted(env_steps),
    }
    columns |= dict(zip(column_names(metrics), values, strict=True))
    return pd.DataFrame(columns)


def _counted(counts: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    """Counts as integers; if some rows have no count (below 0), as floats with NaN there."""
    return counts if (counts >= 0).all() else np.where(counts >= 0, counts, np.nan)


def columns_of(run: Run, names: Collection[str]) -> dict[str, Floats]:
    """The metrics of a run among `names`, with `env_steps` and `elapsed_s`: one number per row, NaN
    in rows without the metric.
    """
    metrics, heads, values = all_rows(run)
    found = {m.name: row for m, row in zip(metrics, values, strict=True) if m.name in names}
    steps = heads[ENV_STEPS].astype(np.float64)
    return {**found, "env_steps": steps, "elapsed_s": heads[ELAPSED_NS] / 1e9}


def all_rows(run: Run) -> tuple[list[Metric], Integers, Floats]:
    """The metrics of a run, and the heads [6, R] and values [M, R] of all of its rows. Raises
    PageError.
    """
    with Curves.of_run(run) as curves:
        batches, metrics = list(curves.batches()), curves.metrics
    places = np.arange(len(metrics))
    return metrics, heads_of(batches), spread_out(batches, 0, places, len(metrics))[0]
