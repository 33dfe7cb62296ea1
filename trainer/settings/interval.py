"""How often something happens: in iterations, env steps or seconds."""

from __future__ import annotations

from typing import NamedTuple, Self

from pydantic import Field, model_validator

from .section import Section


class Clock(NamedTuple):
    """How far a run is, in all units of intervals."""

    iteration: int
    env_steps: int
    seconds: float


UNITS = dict(zip(("every_iterations", "every_env_steps", "every_s"), Clock._fields, strict=True))


class Interval(Section):
    """One of three units; 0 in all of them: only at the end of the run."""

    every_iterations: int = Field(0, ge=0, description="interval in iterations; 0: off")
    every_env_steps: int = Field(0, ge=0, le=10**15, description="interval in env steps; 0: off")
    every_s: float = Field(0.0, ge=0, le=10**8, description="interval in seconds; 0: off")

    @model_validator(mode="after")
    def _has_one_unit(self) -> Self:
        given = [f"{key} = {getattr(self, key)}" for key in UNITS if getattr(self, key)]
        if len(given) > 1:
            raise ValueError(
                f"{' and '.join(given)}: an interval has one unit; set the others to 0"
            )
        return self

    @property
    def is_set(self) -> bool:
        """Whether it has an interval at all."""
        return any(getattr(self, key) for key in UNITS)

    def is_due(self, before: Clock, after: Clock) -> bool:
        """Whether a multiple of the interval was reached or crossed on the way."""
        return self.num_due(before, after) > 0

    def num_due(self, before: Clock, after: Clock) -> int:
        """How many multiples were reached or crossed on the way."""
        for key, field in UNITS.items():
            if every := getattr(self, key):
                return int(getattr(after, field) // every - getattr(before, field) // every)
        return 0
