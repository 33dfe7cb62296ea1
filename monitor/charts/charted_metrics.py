"""Which metrics have a chart of their own, for all that draws them or watches over them."""

from __future__ import annotations

import re

from ...shared import Metric

_NOT_CHARTED = ("progress",)  # groups that the header shows
# Words of names, of these trainers and others: episode/return, rollout/ep_rew_mean, cost/total.
_LEARNING = frozenset(
    ("episode", "evaluation", "eval", "cost", "return", "returns", "reward", "rewards", "rew",
     "score", "scores", "length", "lengths", "len", "success", "accuracy", "acc", "win")
)  # fmt: skip


def is_charted(metric: Metric) -> bool:
    return metric.kind != "text" and metric.group not in _NOT_CHARTED and not is_phase(metric)


def is_phase(metric: Metric) -> bool:
    return metric.group == "time"


def is_learning_curve(name: str) -> bool:
    """Whether a metric says how well a policy does: returns, lengths, scores, evaluations. Their
    first values, however far from the others, are what was learned.
    """
    return not _LEARNING.isdisjoint(re.split(r"[^a-z0-9]+", name.lower()))
