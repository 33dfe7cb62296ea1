"""Which metrics have a chart of their own, for all that draws them or watches over them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from ...shared import Metric

_NOT_CHARTED = ("progress",)  # groups that the header shows
# Words of names, of these trainers and others: episode/return, rollout/ep_rew_mean, cost/total.
_LEARNING = frozenset(
    ("episode", "evaluation", "eval", "cost", "return", "returns", "reward", "rewards", "rew",
     "score", "scores", "length", "lengths", "len", "success", "accuracy", "acc", "win")
)  # fmt: skip

RETURN = "episode/return"
_MAIN = (
    {"return", "returns", "reward", "rewards", "rew"},
    {"score", "scores", "success", "accuracy", "acc", "win", "cost"},
    {"loss"},
)
_OF_ENVS = {"env", "envs", "episode", "ep", "rollout", "return", "returns", "reward", "rew"}


def is_charted(metric: Metric) -> bool:
    return metric.kind != "text" and metric.group not in _NOT_CHARTED and not is_phase(metric)


def is_phase(metric: Metric) -> bool:
    return metric.group == "time"


def main_metric(names: Collection[str]) -> str:
    """The metric that says most about a run: its return, else what comes nearest to one, else its
    loss; empty where it has none of them.
    """
    if RETURN in names:
        return RETURN
    for words in _MAIN:
        for name in names:
            if not words.isdisjoint(_words(name)):
                return name
    return ""


def main_heading(mains: Iterable[str]) -> str:
    """The heading of the runs' main metrics: `return` where each shows its return."""
    return "return" if {RETURN, ""}.issuperset(mains) else "metric"


def steps_name(names: Iterable[str]) -> str:
    """`env steps`, or `steps` where the names of a run's metrics show that it has no environments,
    as with Hugging Face or Lightning.
    """
    known = list(names)
    has_envs = any(not _OF_ENVS.isdisjoint(_words(name)) for name in known)
    return "env steps" if has_envs or not known else "steps"


@lru_cache(4096)
def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z0-9]+", name.lower()))


def is_learning_curve(name: str) -> bool:
    """Whether a metric says how well a policy does: returns, lengths, scores, evaluations. Their
    first values show the learning, however far from the others they are.
    """
    return not _LEARNING.isdisjoint(_words(name))
