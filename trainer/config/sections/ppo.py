"""The settings of PPO."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import AlgorithmSection, Fraction, Schedule, Section
from .contrastive import ContrastiveConfig
from .kickstart import KickstartConfig
from .rollouts import SKIPPED, check_minibatches


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
        SKIPPED,
    )  # fmt: skip

    tables: ClassVar[dict[str, type[Section]]] = {
        "kickstart": KickstartConfig, "contrastive": ContrastiveConfig,
    }  # fmt: skip

    gae_lambda: Fraction = Field(0.95, description="lambda of the advantage estimates; 0 to 1")
    num_epochs: int = Field(4, ge=1, le=1000, description="passes over each rollout")
    num_minibatches: int = Field(
        4, ge=1, description="minibatches per epoch; must divide num_envs x rollout_steps"
    )
    clip_coef: float = Field(0.2, gt=0, le=10, description="clip range of the probability ratio")
    entropy_coef: float = Field(0.0, ge=0, le=10, description="weight of the entropy bonus")
    entropy_schedule: Schedule = Field(
        "constant", description="schedule of entropy_coef over the run"
    )
    value_coef: float = Field(0.5, ge=0, le=100, description="weight of the value loss")
    value_clip: float | None = Field(
        None,
        gt=0,
        description="clip range of a value's change per update, in reward units; none: no clipping",
    )
    max_grad_norm: float = Field(
        0.5, gt=0, description="maximum gradient norm; larger gradients are scaled down to it"
    )
    normalize_advantages: Literal["minibatch", "rollout", "off"] = Field(
        "minibatch", description="over what to normalise advantages"
    )
    target_kl: float | None = Field(
        None, gt=0, description="stop an update early once approx_kl exceeds this; none: never"
    )
    sampler: Literal["shuffled", "sequential", "prioritised"] = Field(
        "shuffled",
        description="how minibatches are drawn; prioritised: samples with large advantages more "
        "often and with replacement, so an epoch need not see every sample; recurrent policies "
        "draw whole rows",
    )
    priority_exponent: float = Field(
        0.5, ge=0, le=4, description="of prioritised: alpha; 0: as shuffled, each sample once"
    )
    max_minibatch_size: int = Field(
        0,
        ge=0,
        description="samples per forward and backward pass; gradients accumulate to a whole "
        "minibatch, which saves memory; 0: no accumulation",
    )

    @property
    def not_compiled(self) -> dict[str, Any]:
        """Settings that the compiled loops do not support."""
        keys = ("sampler", "max_minibatch_size")
        values = {key: getattr(self, key) for key in keys}
        defaults = type(self).model_fields
        return {key: value for key, value in values.items() if value != defaults[key].default}

    def check(self, facts: Facts) -> None:
        if facts.policy.precision == "float16":
            raise ValueError("policy.precision = float16: ppo takes float32 or bfloat16")
        check_minibatches(facts, self.num_minibatches)
        facts.tables["kickstart"].check(facts)
        facts.tables["contrastive"].check(facts, self.num_minibatches)

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(facts)
        if not facts.tables["kickstart"].teachers:
            for key in KickstartConfig.model_fields:
                yield f"kickstart.{key}", "there are no kickstart.teachers"
        if not facts.tables["contrastive"].coef:
            for key in ContrastiveConfig.model_fields:
                yield f"contrastive.{key}", "contrastive.coef = 0.0, which is off"
        if self.sampler != "prioritised":
            yield "ppo.priority_exponent", f"no use for it, ppo.sampler = {self.sampler}"
        if self.num_epochs == 1:
            yield "ppo.target_kl", "no later epoch could be left out, ppo.num_epochs = 1"
        if not self.entropy_coef:
            yield "ppo.entropy_schedule", "there is no bonus to change, ppo.entropy_coef = 0"
        if not self.value_coef:
            yield "ppo.value_clip", "values are not learned, ppo.value_coef = 0"
