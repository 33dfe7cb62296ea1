"""The settings of off-policy algorithms with an actor and critics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import Fraction
from ...spaces.encoders import ENVIRONMENT, MLP, is_packed
from .dqn import check_hidden_layer
from .off_policy import OffPolicyConfig

ENTROPY = Metric("policy/entropy", "nats", description="mean entropy of the action distributions")


class ActorCriticConfig(OffPolicyConfig):
    """Actions are real numbers within bounds."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        *OffPolicyConfig.metrics,
        Metric("loss/policy", description="minus the critics' value of the actor's actions"),
    )
    action_kinds: ClassVar[tuple[str, ...]] = ("Box",)

    max_grad_norm: float = Field(
        1e6, gt=0, description="maximum gradient norm; larger gradients are scaled down to it"
    )
    policy_delay: int = Field(1, ge=1, le=1024, description="critic updates per actor update")
    loss: Literal["squared", "huber"] = Field(
        "squared", description="loss of the critics' TD errors"
    )
    squash: Literal["tanh", "arctan"] = Field(
        "tanh", description="maps the actor's outputs to -1 to 1; arctan: scaled by 2 / pi"
    )
    epsilon_start: Fraction = Field(0.0, description="initial fraction of random actions; 0 to 1")
    epsilon_end: Fraction = Field(0.0, description="final fraction of random actions; 0 to 1")

    @property
    def updates_at_once(self) -> int:
        return self.policy_delay

    @property
    def is_epsilon_greedy(self) -> bool:
        """Whether a part of actions is random after warm-up as well."""
        return max(self.epsilon_start, self.epsilon_end) > 0

    def check(self, facts: Facts) -> None:
        super().check(facts)
        if facts.encoder == ENVIRONMENT:
            check_hidden_layer(facts, "joins what it sees and what it does in one")


class DDPGConfig(ActorCriticConfig):
    """Deep deterministic policy gradient, Lillicrap et al. 2016, arXiv:1509.02971."""

    exploration_std: float = Field(
        0.1,
        ge=0,
        le=10,
        description="standard deviation of exploration noise, in half action ranges",
    )  # fmt: skip
    smoothing_std: float = Field(
        0.0, ge=0, le=10, description="standard deviation of the target policy's noise; 0: none"
    )
    smoothing_clip: float = Field(0.5, gt=0, le=10, description="clips that noise")

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(facts)
        name = facts.algorithm_table
        if not self.smoothing_std:
            yield f"{name}.smoothing_clip", f"there is no noise to clip, {name}.smoothing_std = 0"


class TD3Config(DDPGConfig):
    """Twin delayed DDPG, Fujimoto et al. 2018, arXiv:1802.09477."""

    policy_delay: int = Field(2, ge=1, le=1024, description="critic updates per actor update")
    smoothing_std: float = Field(
        0.2, ge=0, le=10, description="standard deviation of the target policy's noise; 0: none"
    )


class ACIQNConfig(DDPGConfig):
    """An actor and a critic of implicit quantiles, Lin et al. 2024, arXiv:2412.09466."""

    unused_fields: ClassVar[dict[str, str]] = {"loss": "its critic's loss is that of quantiles"}

    num_quantiles: int = Field(8, ge=1, le=1024, description="quantile fractions drawn per sample")
    risk: float = Field(
        1.0, gt=0, le=1, description="fraction of lowest returns that the actor goes by; 1: all"
    )

    def check(self, facts: Facts) -> None:
        super().check(facts)
        check_hidden_layer(facts, "joins fractions of the return in one")


class SACConfig(ActorCriticConfig):
    """Soft actor-critic, Haarnoja et al. 2018, arXiv:1812.05905."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        *ActorCriticConfig.metrics,
        ENTROPY,
        Metric("policy/alpha", "reward/nat", description="what a nat of entropy is worth"),
    )

    exploration: Literal["policy", "state_dependent"] = Field(
        "policy",
        description="policy: sample from the policy; state_dependent: generalised state-dependent "
        "exploration, its noise matrix drawn once per rollout",
    )
    exploration_std: float = Field(
        0.05, gt=0, le=10, description="initial standard deviation of that matrix"
    )
    alpha: float | Literal["auto"] = Field(
        "auto", description="entropy coefficient; auto: tuned to reach target_entropy, from 1 on"
    )
    target_entropy: float | None = Field(
        None, ge=-1000, le=1000, description="in nats; none: minus the number of actions"
    )

    @field_validator("alpha", mode="before")
    @classmethod
    def _is_a_number_or_auto(cls, alpha: object) -> object:
        if alpha == "auto" or (isinstance(alpha, int | float) and 0 < alpha <= 1000):
            return alpha
        raise ValueError(f"expected auto or a number above 0, up to 1000, got {alpha}")

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(facts)
        name = facts.algorithm_table
        if self.exploration == "policy":
            reason = f"there is no noise to explore with, {name}.exploration = policy"
            yield f"{name}.exploration_std", reason
        if self.alpha != "auto":
            yield f"{name}.target_entropy", f"alpha stays, {name}.alpha = {self.alpha}"


class TQCConfig(SACConfig):
    """Truncated quantile critics, Kuznetsov et al. 2020, arXiv:2005.04269."""

    unused_fields: ClassVar[dict[str, str]] = {
        "loss": "its critics' loss is always the quantile Huber loss"
    }

    num_quantiles: int = Field(25, ge=1, le=1024, description="quantiles of the return per critic")
    dropped_quantiles: int = Field(
        2, ge=0, le=1023, description="largest quantiles left out of the target, per critic"
    )

    def check(self, facts: Facts) -> None:
        super().check(facts)
        if self.dropped_quantiles >= self.num_quantiles:
            raise ValueError(
                f"tqc.dropped_quantiles = {self.dropped_quantiles} leaves none of "
                f"tqc.num_quantiles = {self.num_quantiles}; choose a smaller number"
            )


class CrossQConfig(SACConfig):
    """SAC with batch renormalisation, no target networks; Bhatt et al. 2024, arXiv:1902.05605."""

    unused_fields: ClassVar[dict[str, str]] = {
        "target_tau": "crossq has no target networks",
        **dict.fromkeys(("exploration", "exploration_std"), "crossq samples from the policy"),
    }

    policy_delay: int = Field(3, ge=1, le=1024, description="critic updates per actor update")

    def check(self, facts: Facts) -> None:
        super().check(facts)
        if is_packed(facts.spec):
            raise ValueError(
                "algorithm = crossq takes vectors, and observations are dictionaries with images; "
                "use sac, or a wrapper that gives a vector"
            )
        if facts.encoder != MLP:
            raise ValueError(f"policy.encoder = {facts.encoder}: crossq takes vectors, use mlp")
