"""The main metric of a run over its steps, as few numbers: for one row of the list."""

from __future__ import annotations

import numpy as np

from ....shared.rows.curves import Curves
from ....shared.rows.history import History
from ....shared.runs.run_elsewhere import RunElsewhere
from ....shared.runs.run_folder import Run
from ...charts.charted_metrics import main_metric
from ...render.sparks import sampled

NUM_RETURNS = 32
MAX_ROWS = 1024  # that they are taken from


def read_returns(run: Run) -> tuple[float, ...]:
    """Returns from the run's curves, or as its own machine reports them; empty if it has no main
    metric.
    """
    if isinstance(run, RunElsewhere):
        return tuple(run.report().get("returns", ()))
    try:
        with Curves.of_run(run, max_rows=MAX_ROWS) as curves:
            return returns_of(curves.history())
    # Files are bytes that anyone may write, and the list shows all other runs.
    except Exception:
        return ()


def returns_of(history: History) -> tuple[float, ...]:
    """`NUM_RETURNS` means over env steps; over publishes where none are counted."""
    steps = history.env_steps
    counts = steps if len(steps) and steps[-1] >= 0 else history.publish
    values = history.series(main_metric(history.names)).mean
    return sampled(counts.astype(np.float64), values, NUM_RETURNS)
