"""The history of metrics as few points: lowest, mean and highest value of so many rows each."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...monitor.charts.point_fold import Points
from ...monitor.runs.reading.run_poller import RunPoller
from ...monitor.runs.reading.run_view import RunView
from ...shared.errors import OperantError, UsageError, nearest
from ...shared.page.history import Floats, History, Integers
from ...shared.runs.run_folder import Run
from .answers import Answer, check_number

MAX_METRICS, MIN_POINTS, MAX_POINTS = 10, 2, 500
PATIENCE_S = 30.0  # until all rows of a long run are read
LOOK_AGAIN_S = 0.01


def history_answer(run: Run, metrics: Sequence[str], points: int) -> Answer:
    """The history of each of these metrics in up to so many points. Raises UsageError."""
    check_number("points", points, MIN_POINTS, MAX_POINTS)
    if not 1 <= len(metrics) <= MAX_METRICS:
        raise UsageError(f"{len(metrics)} metrics are named; name 1 to {MAX_METRICS}")
    view = loaded_view(run)
    units = {metric.name: metric.unit for metric in view.schema}
    steps = {metric.name: metric.step_metric for metric in view.schema}
    for name in metrics:
        if name not in units:
            raise UsageError(
                f"{run.id} has no metric '{name}'{nearest(name, units)}; run_status lists them"
            )
    curves = [
        {"name": name, "unit": units[name], **_curve(view, name, steps[name], points)}
        for name in dict.fromkeys(metrics)
    ]
    return {"run": run.id, "state": view.status.state, "metrics": curves}


def loaded_view(run: Run) -> RunView:
    """A look at a run, once all of its rows are read. Raises OperantError where that takes long."""
    poller = RunPoller(run)
    deadline = time.monotonic() + PATIENCE_S
    try:
        poller.poll()  # the first look reads no rows
        while (view := poller.poll()).is_loading:
            if time.monotonic() > deadline:
                raise OperantError(f"{run.id} has more rows than are read in {PATIENCE_S:.0f} s")
            time.sleep(LOOK_AGAIN_S)
    finally:
        poller.close()
    return view


def _curve(view: RunView, name: str, step_metric: str, most: int) -> dict[str, Any]:
    """Points of one metric: where their rows end, and what the rows hold."""
    found = view.points.points(name, step_metric) if view.points else None
    known = found or _points_of(view.history, name)
    num_rows = _rows_in(known) if found else view.history.num_publishes
    is_there = np.isfinite(known.low) | np.isfinite(known.mean) | np.isfinite(known.high)
    places = np.flatnonzero(is_there)
    parts = np.array_split(places, min(most, len(places))) if len(places) else []
    curve = []
    for part in parts:
        last = part[-1]
        point: dict[str, Any] = {
            "env_steps": _or_none(known.env_steps[last]),
            "iteration": _or_none(known.iteration[last]),
            "seconds": round(float(known.elapsed_s[last]), 3),
        }
        point |= _values(known.low[part], known.mean[part], known.high[part], num_rows[part])
        curve.append(point)
    return {"num_points": len(curve), "is_downsampled": known.span > 1 or len(places) > most,
            "points": curve}  # fmt: skip


def _values(low: Floats, mean: Floats, high: Floats, num_rows: Integers) -> dict[str, float]:
    """One `value` where the point is a single row; else each mean counts by the rows behind it."""
    is_there = np.isfinite(mean)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # of nothing but NaN
        share = num_rows[is_there] / num_rows[is_there].sum()
        middle = float((mean[is_there] * share).sum()) if is_there.any() else math.nan
        values = [float(np.nanmin(low)), middle, float(np.nanmax(high))]
    if values[0] == values[1] == values[2]:
        return {"value": values[1]}
    return dict(zip(("min", "mean", "max"), values, strict=True))


def _rows_in(points: Points) -> Integers:
    """How many rows each point stands for [P]."""
    num_rows = np.full(len(points), points.span, np.int64)
    num_rows[-1:] = points.newest_span
    return num_rows


def _points_of(history: History, name: str) -> Points:
    heads: Integers = np.zeros((6, len(history)), np.int64)
    heads[2] = (history.elapsed_s * 1e9).astype(np.int64)
    heads[3], heads[4] = history.iteration, history.env_steps
    span = int(history.num_publishes.max()) if len(history) else 1
    series = history.series(name)
    nothing = np.full(len(history), np.nan)
    return Points(heads, nothing, series.low, series.mean, series.high, span)


def _or_none(number: Any) -> int | None:
    return None if number < 0 else int(number)
