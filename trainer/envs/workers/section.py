"""The settings of worker processes for environments of other libraries."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ....shared.errors import ConfigError
from ...settings.facts import Facts
from ...settings.section import EnvSection
from .dividing import (
    AUTO,
    MOST_WORKERS,
    WorkerPlan,
    most_groups,
    most_workers,
    num_cores,
    why_not,
)


def _number_or_auto(least: int) -> BeforeValidator:
    def checked(value: Any) -> int | str:
        if value == AUTO:
            return AUTO
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not least <= value <= MOST_WORKERS
        ):
            raise ValueError(f"{value!r} is not a number from {least} to {MOST_WORKERS}, or auto")
        return value

    return BeforeValidator(checked)


class WorkersConfig(EnvSection):
    """Processes that step environments."""

    num_workers: Annotated[int | str, _number_or_auto(0)] = Field(
        0,
        description="worker processes that step the environments; 0: step them in this process, "
        "one after the other; auto: the fastest number, measured at the start",
    )
    async_factor: Annotated[int | str, _number_or_auto(1)] = Field(
        AUTO,
        description="groups of workers; the policy computes actions for one group while the "
        "others step; 1: all step together; auto: measured at the start",
    )
    timeout_s: float = Field(
        120.0,
        ge=0,
        le=86_400,
        description="seconds that a worker may take for a step, a reset or its start; 0: no limit",
    )

    @property
    def changed(self) -> dict[str, Any]:
        """The keys that are not at their defaults, and their values."""
        fields = type(self).model_fields.items()
        values = {key: (getattr(self, key), field.default) for key, field in fields}
        return {key: value for key, (value, default) in values.items() if value != default}

    def check(self, facts: Facts) -> None:
        """Raises ValueError where the workers do not divide the environments."""
        if self.num_workers == AUTO:
            return
        factor = 1 if self.async_factor == AUTO else int(self.async_factor)
        numbers = facts.num_envs, int(self.num_workers), factor
        # On a machine with fewer cores a policy can still be looked at, so they are no reason here.
        if why_not(*numbers, MOST_WORKERS):
            raise ValueError(why_not(*numbers, num_cores()))

    def check_cores(self, num_envs: int) -> None:
        """Raises ConfigError where more workers are asked for than there are cores."""
        cores = num_cores()
        if self.num_workers != AUTO and int(self.num_workers) > cores:
            raise ConfigError(why_not(num_envs, int(self.num_workers), 1, cores))

    def plan(self, num_envs: int) -> WorkerPlan:
        """On this machine, with all that is measured left at its least: as many workers as asked
        for, or as there are cores, and not more than divide the environments.
        """
        workers = 0 if self.num_workers == AUTO else int(self.num_workers)
        if workers:
            workers = most_workers(num_envs, workers, num_cores())
        factor = 1 if self.async_factor == AUTO else int(self.async_factor)
        groups = most_groups(workers, factor)
        return WorkerPlan(workers, groups, self.timeout_s)
