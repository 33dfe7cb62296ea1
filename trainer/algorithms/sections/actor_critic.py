"""What algorithms can be told that learn an actor and critics from replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from ...config.section import Fraction
from ...envs import spec_of
from .dqn import check_hidden_layer
from .off_policy import OffPolicyConfig

if TYPE_CHECKING:
    from ...config import TrainConfig

ENTROPY = Metric("policy/entropy", "nats", description="mean entropy of the action distributions")


class ActorCriticConfig(OffPolicyConfig):
    """Actions are real numbers within bounds."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        *OffPolicyConfig.metrics,
        Metric("loss/policy", description="minus the critics' value of the actor's actions"),
    )
    action_kinds: ClassVar[tuple[str, ...]] = ("Box",)

    max_grad_norm: float = Field(
        1e6, gt=0, description="gradients of a larger norm are scaled down to it"
    )
    policy_delay: int = Field(1, ge=1, le=1024, description="updates between two of the actor")
    loss: Literal["squared", "huber"] = Field(
        "squared", description="of the distance to the critics' targets"
    )
    squash: Literal["tanh", "arctan"] = Field(
        "tanh", description="what takes the network's outputs to actions; arctan: times 2 / pi"
    )
    epsilon_start: Fraction = Field(0.0, description="part of random actions at the start; 0 to 1")
    epsilon_end: Fraction = Field(0.0, description="part of random actions in the end; 0 to 1")

    @property
    def updates_at_once(self) -> int:
        return self.policy_delay

    @property
    def is_epsilon_greedy(self) -> bool:
        """Whether a part of actions is random after warm-up as well."""
        return max(self.epsilon_start, self.epsilon_end) > 0

    def check(self, config: TrainConfig) -> None:
        super().check(config)
        if getattr(spec_of(config), "make_encoder", None):
            check_hidden_layer(config, "joins what it sees and what it does in one")
        if self.target_every > 1 and self.target_every % self.policy_delay:
            name = config.algorithm
            raise ValueError(
                f"{name}.target_every = {self.target_every}: targets move with the actor, "
                f"{name}.policy_delay = {self.policy_delay}; a multiple of that"
            )
        if self.num_updates(config) % self.policy_delay:
            raise ValueError(
                f"{config.algorithm}.policy_delay = {self.policy_delay} does not divide the "
                f"{self.num_updates(config)} updates of an iteration"
            )


class DDPGConfig(ActorCriticConfig):
    """Deep deterministic policy gradient, Lillicrap et al. 2016, arXiv:1509.02971."""

    exploration: Literal["gaussian", "ornstein_uhlenbeck"] = Field(
        "gaussian", description="noise on actions: anew in every step, or drifting"
    )
    exploration_std: float = Field(
        0.1, ge=0, le=10, description="deviation of the noise on actions, in half ranges"
    )
    smoothing_std: float = Field(
        0.0, ge=0, le=10, description="deviation of the noise on the target's actions"
    )
    smoothing_clip: float = Field(0.5, gt=0, le=10, description="the most of that noise")

    def ignored_keys(self, config: TrainConfig) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(config)
        name = config.algorithm
        if not self.smoothing_std:
            yield f"{name}.smoothing_clip", f"there is no noise to clip, {name}.smoothing_std = 0"


class TD3Config(DDPGConfig):
    """Twin delayed DDPG, Fujimoto et al. 2018, arXiv:1802.09477."""

    policy_delay: int = Field(2, ge=1, le=1024, description="updates between two of the actor")
    smoothing_std: float = Field(
        0.2, ge=0, le=10, description="deviation of the noise on the target's actions"
    )


class ACIQNConfig(DDPGConfig):
    """An actor and a critic of implicit quantiles, Lin et al. 2024, arXiv:2412.09466."""

    num_quantiles: int = Field(8, ge=1, le=1024, description="fractions drawn for each sample")
    risk: float = Field(
        1.0, gt=0, le=1, description="the lower part of the return that the actor goes by; 1: all"
    )

    def check(self, config: TrainConfig) -> None:
        super().check(config)
        check_hidden_layer(config, "joins fractions of the return in one")

    def ignored_keys(self, config: TrainConfig) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(config)
        yield "ac_iqn.loss", "its critic's loss is that of quantiles, always"


class SACConfig(ActorCriticConfig):
    """Soft actor-critic, Haarnoja et al. 2018, arXiv:1812.05905."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        *ActorCriticConfig.metrics,
        ENTROPY,
        Metric("policy/alpha", "reward/nat", description="what a nat of entropy is worth"),
    )

    exploration: Literal["policy", "ornstein_uhlenbeck", "state_dependent"] = Field(
        "policy",
        description="the policy's own draws, those and drifting noise, or noise that depends on "
        "the state and is kept for all of a collection",
    )
    exploration_std: float = Field(
        0.05, gt=0, le=10,
        description="of that noise: in half ranges, or of its weights at the start",
    )  # fmt: skip
    alpha: float = Field(1.0, gt=0, le=1000, description="the entropy's worth at the start")
    learn_alpha: bool = Field(True, description="towards target_entropy; else alpha stays")
    target_entropy: float | None = Field(
        None, ge=-1000, le=1000, description="in nats; minus the number of actions by default"
    )

    def ignored_keys(self, config: TrainConfig) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(config)
        if self.exploration == "policy":
            reason = "there is no noise to explore with, sac.exploration = policy"
            yield "sac.exploration_std", reason
        if not self.learn_alpha:
            yield "sac.target_entropy", "alpha stays, sac.learn_alpha = false"
