"""A run as it was at any moment of its history."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import numpy as np

from ....shared.console.console_file import time_of, time_text
from ....shared.runs.status import ENV_STEPS_PER_S, PROGRESS_FRACTION
from .run_view import RunView


def view_at(view: RunView, row: int) -> RunView:
    """`view` when row `row` of its history was the newest: its numbers, curves and events then.

    The state stays what it is: whether a run lives is not a matter of its history.
    """
    history = view.history
    if not 0 <= row < len(history) - 1:
        return view
    past = history.until(row + 1)
    metrics = {}
    for metric in view.schema:
        series = past.series(metric.name)
        said = np.flatnonzero(np.isfinite(series.mean) | past.gaps(series))
        metrics[metric.name] = float(series.mean[said[-1]]) if len(said) else np.nan
    env_steps, iteration = int(past.env_steps[-1]), int(past.iteration[-1])
    status = replace(
        view.status,
        iteration=None if iteration < 0 else iteration,
        env_steps=None if env_steps < 0 else env_steps,
        env_steps_per_s=metrics.get(ENV_STEPS_PER_S),
        progress_fraction=metrics.get(PROGRESS_FRACTION),
        eta_s=None,
        metrics=metrics,
    )
    wall_ns = past.wall_s[-1] * 1e9
    events = tuple(event for event in view.events if event.wall_ns <= wall_ns)
    publish = int(past.publish[-1])
    alerts = tuple(alert for alert in view.alerts if alert.publish <= publish)
    detail = view.detail.until_publish(publish) if view.detail else None
    step = env_steps if env_steps >= 0 else iteration
    media = tuple(
        file for file in view.media if file.step <= (iteration if file.is_episode else step)
    )
    return replace(
        view,
        status=status,
        history=past,
        events=events,
        publish=publish,
        alerts=alerts,
        detail=detail,
        console=view.console[: bisect_right(view.console, time_text(int(wall_ns)), key=time_of)],
        media=media,
    )


def row_at(view: RunView, share: float) -> int:
    """The row of the history at `share` of the run by its publishes: rows are not evenly spaced."""
    publish = view.history.publish
    if not len(publish):
        return 0
    wanted = share * float(publish[-1]) - 1e-6  # less than a publish, more than rounding
    return min(int(np.searchsorted(publish, wanted)), len(publish) - 1)
