"""Which charts a run gets, and in what order: the page describes itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..shared import History, Metric
from .chart import Chart
from .curves import XAxis, curve_of
from .formatting import format_value
from .palette import series_of_group
from .phases import is_phase
from .ticks import steady_end

# What people look at first; the rest follows in the order of the page.
_FIRST = (
    "cost/total",
    "cost/held_out",
    "episode/return",
    "loss/policy",
    "loss/value",
    "speed/env_steps_per_s",
    "evaluation/return",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
    "value/explained_variance",
    "episode/length",
)
_NOT_CHARTED = ("progress",)  # groups that the header shows


def charted(schema: Sequence[Metric]) -> list[Metric]:
    """The metrics that get a chart, in the order of the charts: details last."""
    metrics = [
        metric
        for metric in schema
        if metric.kind != "text" and metric.group not in _NOT_CHARTED and not is_phase(metric)
    ]
    return sorted(metrics, key=lambda metric: (metric.level, _rank(metric.name)))


def chart_of(
    metric: Metric, value: float | None, history: History, x: XAxis, x_range: tuple[float, float]
) -> Chart:
    """The chart of `metric`, whose newest value is `value`; NaN while it has none."""
    curve = curve_of(history, metric.name, x)
    # A value that was never written and one that was written as NaN look the same in a snapshot;
    # only the latter comes after points of a curve.
    is_nan = value is not None and not math.isfinite(value)
    has_value = len(curve) > 0 or (value is not None and not math.isnan(value))
    return Chart(
        title=metric.name,
        value=format_value(value if has_value else None),
        curve=curve,
        x_range=x_range,
        note=f"{metric.description}, over {x.unit}" if metric.description else f"over {x.unit}",
        style=f"series{series_of_group(metric.group)}",
        unit=metric.unit,
        is_alarming=is_nan and has_value,
    )


def whole_range(x: XAxis, is_alive: bool) -> tuple[float, float]:
    """From the start of the run to its end, with a little room ahead while it goes on."""
    places = x.values[x.values >= 0]
    if not len(places):
        return 0.0, 0.0
    start, end = float(places.min()), float(places.max())
    start = 0.0 if start <= 0.1 * end else start
    return start, steady_end(start, end) if is_alive else end


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)
