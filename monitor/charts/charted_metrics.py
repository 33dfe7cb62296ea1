"""Which metrics have a chart of their own, for all that draws them or watches over them."""

from __future__ import annotations

from ...shared import Metric

_NOT_CHARTED = ("progress",)  # groups that the header shows


def is_charted(metric: Metric) -> bool:
    return metric.kind != "text" and metric.group not in _NOT_CHARTED and not is_phase(metric)


def is_phase(metric: Metric) -> bool:
    return metric.group == "time"
