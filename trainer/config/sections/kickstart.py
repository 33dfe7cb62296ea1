"""The settings of learning from teachers."""

from __future__ import annotations

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import Fraction, Section


class KickstartConfig(Section):
    """Learning from policies that were trained before, beside learning from rewards."""

    teachers: tuple[str, ...] = Field(
        (), max_length=16, description="runs or checkpoint files to learn from; empty: off"
    )
    policy_coef: float = Field(
        1.0, ge=0, le=1000, description="weight of the divergence between policy and teacher"
    )
    value_coef: float = Field(
        0.0, ge=0, le=1000, description="weight of the squared difference from the teacher's values"
    )
    until_fraction: Fraction = Field(
        0.5,
        gt=0,
        description="fraction of the run after which the teachers' weight is 0; it falls over the "
        "second half of that time",
    )

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics of runs with teachers."""
        if not self.teachers:
            return ()
        return (Metric("loss/kickstart", better="down", description="distance from teachers"),)

    def check(self, facts: Facts) -> None:
        """Raises ValueError where this and the rest of the run do not fit together."""
        if not self.teachers:
            return
        if facts.host == "tinyphysics":
            raise ValueError(f"kickstart.teachers: {facts.env} cannot learn from other policies")
        if not (self.policy_coef or self.value_coef):
            raise ValueError(
                "kickstart.policy_coef = 0 and kickstart.value_coef = 0: one is wanted"
            )
