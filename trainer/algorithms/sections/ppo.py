"""What PPO can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from ...config.section import AlgorithmSection, Fraction, Schedule
from .rollouts import check_minibatches

if TYPE_CHECKING:
    from ...config import TrainConfig


class PPOConfig(AlgorithmSection):
    """Proximal policy optimisation, Schulman et al. 2017, arXiv:1707.06347."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("loss/policy", description="clipped objective, negated"),
        Metric("loss/value", better="down", description="half the squared error of the values"),
        Metric("policy/entropy", "nats", description="mean entropy of the action distributions"),
        Metric("policy/approx_kl", "nats", description="how far the update moved the policy"),
        Metric("policy/clip_fraction", level=1, description="ratios outside the clip range"),
        Metric("value/explained_variance", better="up",
               description="part of the returns' variance that the values predict"),
    )  # fmt: skip

    gae_lambda: Fraction = Field(0.95, description="lambda of the advantage estimates; 0 to 1")
    num_epochs: int = Field(4, ge=1, le=1000, description="passes over each rollout")
    num_minibatches: int = Field(
        4, ge=1, description="parts of each pass; must divide num_envs x rollout_steps"
    )
    clip_coef: float = Field(0.2, gt=0, le=10, description="how far a ratio may leave 1")
    clip_schedule: Schedule = Field("constant", description="how clip_coef changes over the run")
    entropy_coef: float = Field(0.0, ge=0, le=10, description="weight of the entropy bonus")
    entropy_schedule: Schedule = Field(
        "constant", description="how entropy_coef changes over the run"
    )
    value_coef: float = Field(0.5, ge=0, le=100, description="weight of the value loss")
    value_clip: float | None = Field(
        None,
        gt=0,
        description="how far an update may move a value, in reward units; no limit by default",
    )
    max_grad_norm: float = Field(
        0.5, gt=0, description="gradients of a larger norm are scaled down to it"
    )
    normalize_advantages: Literal["minibatch", "rollout", "off"] = Field(
        "minibatch", description="over what advantages get mean 0 and deviation 1"
    )
    target_kl: float | None = Field(
        None, gt=0, description="ends an update once approx_kl exceeds it; none by default"
    )

    def check(self, config: TrainConfig) -> None:
        if config.policy.precision == "float16":
            raise ValueError("policy.precision = float16: ppo takes float32 or bfloat16")
        check_minibatches(config, self.num_minibatches)
