"""The settings of MinAtar's games."""

from __future__ import annotations

from pydantic import Field

from ...settings.facts import Facts
from ...settings.section import EnvSection, Fraction
from . import has_ramping

MOST_STEPS = 2**24 - 1  # counted in float32


class MinAtarConfig(EnvSection):
    """The table `[minatar]`, which all games share."""

    sticky_actions: Fraction = Field(
        0.1, description="probability that a step repeats the action before; 0 to 1"
    )
    ramping: bool = Field(
        True, description="whether asterix, seaquest and space_invaders become harder"
    )
    minimal_actions: bool = Field(
        False, description="only the actions that a game has a use for, not all six"
    )
    max_steps: int = Field(
        0,
        ge=0,
        le=MOST_STEPS,
        description=f"steps after which an episode is truncated; 0: never; 0 to {MOST_STEPS:,}",
    )

    def check(self, facts: Facts) -> None:
        if not (self.ramping or has_ramping(facts.env)):
            raise ValueError(f"minatar.ramping = false: {facts.env} never becomes harder; use true")
