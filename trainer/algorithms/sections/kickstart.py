"""What learning from teachers can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ....shared import Metric
from ...config.section import Fraction, Section
from ...envs import LEARNED_ENV_NAMES

if TYPE_CHECKING:
    from ...config import TrainConfig


class KickstartConfig(Section):
    """Learning from policies that were trained before, beside learning from rewards."""

    teachers: tuple[str, ...] = Field(
        (), max_length=16, description="runs, or files of checkpoints, to learn from; none: off"
    )
    policy_coef: float = Field(
        1.0, ge=0, le=1000, description="weight of the divergence of the policy from each teacher"
    )
    value_coef: float = Field(
        0.0, ge=0, le=1000, description="weight of the squared difference from each one's value"
    )
    until_fraction: Fraction = Field(
        0.5, gt=0, description="part of the run after which teachers count for nothing"
    )
    fade_fraction: Fraction = Field(
        0.5, description="last part of that, in which they count less and less"
    )

    act_prob: Fraction = Field(
        0.0,
        description="probability that an env step of a rollout is taken by a teacher; it falls to "
        "0 as teachers count less",
    )

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What runs publish that have teachers."""
        if not self.teachers:
            return ()
        act_prob = Metric("policy/teacher_act_prob", description="of the env steps of a rollout")
        return (
            Metric("loss/kickstart", better="down", description="distance from teachers"),
            *((act_prob,) if self.act_prob else ()),
        )

    def check(self, config: TrainConfig) -> None:
        """Raises ValueError where this and the rest of the run do not fit together."""
        if not self.teachers:
            for key, field in type(self).model_fields.items():
                if (value := getattr(self, key)) != field.default:
                    raise ValueError(f"kickstart.{key} = {value}: there are no kickstart.teachers")
        elif config.env in LEARNED_ENV_NAMES:
            raise ValueError(f"kickstart.teachers: {config.env} learns from its controllers alone")
        elif not (self.policy_coef or self.value_coef or self.act_prob):
            raise ValueError(
                "kickstart.policy_coef = 0, kickstart.value_coef = 0 and kickstart.act_prob = 0: "
                "one is wanted"
            )
        elif self.act_prob and config.rollout == "fused":
            raise ValueError(
                f"rollout = fused: kickstart.act_prob = {self.act_prob} takes its steps one by "
                "one; use steps"
            )
