"""All rows of a run as a pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...shared.page.layout import NEVER_BITS
from ...shared.runs.run_folder import Run
from .rows import ExportedRows
from .writing import HEAD, column_names

if TYPE_CHECKING:
    import pandas as pd


def frame(run: Run) -> pd.DataFrame:
    """The columns of `operant export --to csv`: counts are integers, `time` has a time zone, and
    metrics are NaN in rows without them. Raises PageError.
    """
    import pandas as pd

    rows = ExportedRows(run)
    try:
        batches = list(rows)
    finally:
        rows.close()
    heads = np.concatenate([np.empty((len(HEAD), 0), np.int64), *(b.heads for b in batches)], 1)
    values = np.full((len(rows.metrics), heads.shape[1]), np.nan)
    end = 0
    for batch in batches:
        begin, end = end, end + len(batch)
        written = np.ascontiguousarray(batch.values)
        is_written = written.view(np.uint64) != NEVER_BITS
        values[batch.places, begin:end] = np.where(is_written, written, np.nan)
    publish, wall_ns, elapsed_ns, iteration, env_steps, publishes = heads
    columns: dict[str, Any] = {
        "publish": publish,
        "publishes": publishes,
        "time": pd.to_datetime(wall_ns, unit="ns", utc=True),
        "elapsed_s": elapsed_ns / 1e9,
        "iteration": _counted(iteration),
        "env_steps": _counted(env_steps),
    }
    columns |= dict(zip(column_names(rows.metrics), values, strict=True))
    return pd.DataFrame(columns)


def _counted(counts: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    """Counts as integers; if some rows have no count (below 0), as floats with NaN there."""
    return counts if (counts >= 0).all() else np.where(counts >= 0, counts, np.nan)
