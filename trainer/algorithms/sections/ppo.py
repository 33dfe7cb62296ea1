"""What PPO can be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from ...config.section import AlgorithmSection, Fraction, Schedule, Section
from .contrastive import ContrastiveConfig
from .kickstart import KickstartConfig
from .rollouts import SKIPPED, check_minibatches

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
        SKIPPED,
    )  # fmt: skip

    tables: ClassVar[dict[str, type[Section]]] = {
        "kickstart": KickstartConfig, "contrastive": ContrastiveConfig,
    }  # fmt: skip

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
    sampler: Literal["shuffled", "sequential", "prioritised"] = Field(
        "shuffled",
        description="which samples, with memory which rows, make a minibatch; prioritised: large "
        "advantages more often, so that K minibatches have 1 - (1 - 1/K)^K of all where these are "
        "alike",
    )
    priority_exponent: float = Field(
        0.5, ge=0, le=4, description="of prioritised: alpha; 0: as shuffled, every one once"
    )
    importance_exponent: Fraction = Field(
        0.4, description="of prioritised: beta at the start, growing to 1; undoes priorities"
    )
    recompute_advantages: Literal["never", "epoch", "minibatch"] = Field(
        "never",
        description="anew by the policy as it then is, corrected for how far it has moved, before "
        "each but the first",
    )
    recompute_returns: bool = Field(
        False, description="whether the values' targets are computed anew as well"
    )
    rho_clip: float = Field(
        1.0, gt=0, le=1000, description="most that a ratio counts in a step, as in V-trace"
    )
    c_clip: float = Field(
        1.0, gt=0, le=1000, description="most that a ratio passes on of what follows; <= rho_clip"
    )
    max_minibatch_size: int = Field(
        0,
        ge=0,
        description="samples learned from at once, gradients of which are added up; 0: a "
        "minibatch, on the processor in pieces that threads share",
    )

    @property
    def not_compiled(self) -> dict[str, Any]:
        """What is asked for that the compiled loops do not do."""
        keys = ("sampler", "recompute_advantages", "max_minibatch_size")
        values = {key: getattr(self, key) for key in keys}
        defaults = type(self).model_fields
        return {key: value for key, value in values.items() if value != defaults[key].default}

    def check(self, config: TrainConfig) -> None:
        if config.policy.precision == "float16":
            raise ValueError("policy.precision = float16: ppo takes float32 or bfloat16")
        check_minibatches(config, self.num_minibatches)
        for table in self.tables:
            config.table(table).check(config)
        if self.c_clip > self.rho_clip:
            raise ValueError(
                f"ppo.c_clip = {self.c_clip:g} is above ppo.rho_clip = {self.rho_clip:g}"
            )

    def ignored_keys(self, config: TrainConfig) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(config)
        if self.sampler != "prioritised":
            for key in ("priority_exponent", "importance_exponent"):
                yield f"ppo.{key}", f"no use for it, ppo.sampler = {self.sampler}"
        if self.recompute_advantages == "never":
            reason = "no use for it, ppo.recompute_advantages = never"
            yield "ppo.recompute_returns", reason
            if not config.table("kickstart").act_prob:
                for key in ("rho_clip", "c_clip"):
                    yield f"ppo.{key}", f"{reason}, kickstart.act_prob = 0"
        if self.num_epochs == 1:
            yield "ppo.target_kl", "no later epoch could be left out, ppo.num_epochs = 1"
        if not self.entropy_coef:
            yield "ppo.entropy_schedule", "there is no bonus to change, ppo.entropy_coef = 0"
        if not self.value_coef:
            yield "ppo.value_clip", "values are not learned, ppo.value_coef = 0"
