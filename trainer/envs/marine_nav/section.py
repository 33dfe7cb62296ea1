"""The settings of MarineNav."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import EnvSection, Section
from .constants import MAX_CLOCK
from .layout import MOST_OBSTACLES, MOST_ROBOTS, MOST_STAGES, MOST_VORTICES

# Between a start and a goal. With 60 m a third of all seas would have no robot.
LONGEST_M = 55.0

EVALUATION_METRICS = (
    Metric("evaluation/success", better="up", description="episodes in which all arrived"),
    Metric(
        "evaluation/strict_success", level=1, better="up", description="and none collided as it did"
    ),
    Metric(
        "evaluation/discounted_return",
        "reward",
        level=1,
        better="up",
        description="mean over robots, until the first collision of any",
    ),
    Metric("evaluation/time_s", "s", "timer", level=1, description="of successful episodes"),
    Metric("evaluation/energy_n_s", "N s", level=1, description="of successful episodes"),
)
# Robots and obstacles of the authors' six settings.
SIX_SETTINGS = ((3, 0), (4, 0), (5, 0), (5, 2), (5, 3), (5, 4))
SUCCESSES = tuple(
    Metric(
        f"evaluation/success_{robots}_{obstacles}",
        level=1,
        better="up",
        description=f"of {robots} robots among {obstacles} obstacles",
    )
    for robots, obstacles in SIX_SETTINGS
)


class Stage(Section):
    """What scenarios are like until so many env steps of the run."""

    until_env_steps: int = Field(ge=1, le=10**15)
    num_robots: int = Field(ge=1, le=MOST_ROBOTS)
    num_obstacles: int = Field(0, ge=0, le=MOST_OBSTACLES)
    num_vortices: int = Field(0, ge=0, le=MOST_VORTICES)
    min_goal_distance_m: float = Field(ge=0, le=LONGEST_M)


class MarineNavConfig(EnvSection):
    """Vessels that share a sea."""

    num_robots: int = Field(
        5, ge=2, le=MOST_ROBOTS, description=f"agents of each environment; 2 to {MOST_ROBOTS}"
    )
    num_obstacles: int = Field(
        4, ge=0, le=MOST_OBSTACLES, description=f"that never move; 0 to {MOST_OBSTACLES}"
    )
    num_vortices: int = Field(
        0, ge=0, le=MOST_VORTICES, description=f"that make the current; 0 to {MOST_VORTICES}"
    )
    min_goal_distance_m: float = Field(
        40.0, ge=0, le=LONGEST_M, description=f"from a start to its goal; 0 to {LONGEST_M:g}"
    )
    curriculum: tuple[Stage, ...] = Field(
        (),
        max_length=MOST_STAGES - 1,
        description="easier stages that come first: until_env_steps and the four keys above, for "
        "each",
    )
    actions: Literal["continuous", "discrete"] = Field(
        "continuous",
        description="continuous: two changes of thrust, -1 to 1; discrete: one of 25 pairs of them",
    )
    noise: bool = Field(True, description="add noise to what is observed of others")

    @property
    def num_agents(self) -> int:
        return self.num_robots

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (*EVALUATION_METRICS, *SUCCESSES)

    def check(self, facts: Facts) -> None:
        for refusal in self._refusals(facts):
            raise ValueError(refusal)

    def _refusals(self, facts: Facts) -> Iterator[str]:
        """What is wrong with the stages, or does not go with the rest of the run."""
        if facts.normalizes_obs and facts.learns_from_replay:
            yield (
                "normalization.obs = true: the mask of what is seen has to stay 0 and 1 for "
                f"{facts.algorithm}; leave it at false"
            )
        for number, stage in enumerate(self.curriculum):
            for key in ("num_robots", "num_obstacles", "num_vortices"):
                count, most = getattr(stage, key), getattr(self, key)
                if count > most:
                    yield (
                        f"marine_nav.curriculum.{number}.{key} = {count}: the world after the "
                        f"curriculum has marine_nav.{key} = {most}, and a stage has at most as many"
                    )
        for before, after in pairwise(self.curriculum):
            if after.until_env_steps <= before.until_env_steps:
                yield (
                    f"marine_nav.curriculum: until_env_steps = {after.until_env_steps} comes after "
                    f"{before.until_env_steps}; stages go in the order of their ends"
                )
        most_steps = int(MAX_CLOCK) * facts.num_rows
        if self.curriculum and self.curriculum[-1].until_env_steps > most_steps:
            yield (
                f"marine_nav.curriculum: until_env_steps = {self.curriculum[-1].until_env_steps}: "
                f"with num_envs = {facts.num_envs} stages end by {most_steps}"
            )
