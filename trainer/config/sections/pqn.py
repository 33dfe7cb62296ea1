"""The settings of PQN."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import Fraction
from .exploring import EPSILON, EpsilonGreedyConfig
from .rollouts import SKIPPED, check_minibatches


class PQNConfig(EpsilonGreedyConfig):
    """Parallelised Q-network, Gallici et al. 2024, arXiv:2407.04811."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("loss/value", better="down", description="half the squared error of the values"),
        Metric("value/mean", "reward", description="mean Q of the actions taken"),
        EPSILON,
        SKIPPED,
    )
    action_kinds: ClassVar[tuple[str, ...]] = ("Discrete",)
    unused_keys: ClassVar[tuple[str, ...]] = (
        "policy.distribution", "policy.initial_log_std", "policy.precision", "rollout",
        "checkpoint.replay",
    )  # fmt: skip

    q_lambda: Fraction = Field(0.65, description="lambda of the Q(lambda) returns; 0 to 1")
    num_epochs: int = Field(4, ge=1, le=1000, description="passes over each rollout")
    num_minibatches: int = Field(
        16, ge=1, description="minibatches per epoch; must divide num_envs x rollout_steps"
    )
    max_grad_norm: float = Field(
        10.0, gt=0, description="maximum gradient norm; larger gradients are scaled down to it"
    )

    def check(self, facts: Facts) -> None:
        check_minibatches(facts, self.num_minibatches)
