"""The settings of MarineNav."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ....shared import Metric
from ...settings.section import EnvSection, Section
from .constants import MAX_CLOCK
from .layout import MOST_OBSTACLES, MOST_ROBOTS, MOST_STAGES, MOST_VORTICES

if TYPE_CHECKING:
    from ...config import TrainConfig

# Between a start and a goal. With 60 m a third of all seas would have no robot, and with 50 m one
# of a hundred on the smaller map of other vessels than those with thrusters.
LONGEST_M, LONGEST_ON_50_M = 55.0, 45.0

EVALUATION_METRICS = (
    Metric("evaluation/success", better="up", description="episodes in which all arrived"),
    Metric("evaluation/strict_success", level=1, better="up",
           description="and none collided as it did"),
    Metric("evaluation/discounted_return", "reward", level=1, better="up",
           description="mean over robots, until the first collision of any"),
    Metric("evaluation/time_s", "s", "timer", level=1, description="of successful episodes"),
)  # fmt: skip
ENERGY = Metric("evaluation/energy_n_s", "N s", level=1, description="of successful episodes")
EFFORT = Metric("evaluation/effort", level=1,
                description="of successful episodes; 0 to 2 a decision")  # fmt: skip
# Robots and obstacles of the authors' six settings.
SIX_SETTINGS = ((3, 0), (4, 0), (5, 0), (5, 2), (5, 3), (5, 4))
SUCCESSES = tuple(
    Metric(f"evaluation/success_{robots}_{obstacles}", level=1, better="up",
           description=f"of {robots} robots among {obstacles} obstacles")
    for robots, obstacles in SIX_SETTINGS
)  # fmt: skip


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
        5, ge=1, le=MOST_ROBOTS,
        description=f"agents of each environment; 2 to {MOST_ROBOTS}, and with a sonar 1",
    )  # fmt: skip
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
        (), max_length=MOST_STAGES - 1,
        description="easier stages that come first: until_env_steps and the four keys above, for "
        "each",
    )  # fmt: skip
    vessels: Literal["thrusters", "kinematic", "sonar"] = Field(
        "thrusters",
        description="thrusters: hulls pushed by two thrusters; kinematic: points with a speed "
        "and a heading; sonar: one such point that observes through a sonar",
    )
    actions: Literal["continuous", "discrete"] = Field(
        "continuous",
        description="vessels with thrusters; continuous: two changes of thrust, -1 to 1; "
        "discrete: one of 25 pairs of them; other vessels have nine discrete actions",
    )
    noise: bool = Field(True, description="with thrusters: add noise to what is observed of others")
    scaled_obs: bool = Field(
        False, description="observations as fractions of ranges and speeds, not in SI units"
    )
    substeps: int = Field(
        10, ge=1, le=100, description="sonar only: simulation steps of 0.1 s per action; 1 to 100"
    )
    boundary: bool = Field(False, description="sonar only: leaving the map ends the episode")
    compatibility: bool = Field(
        False, description="the authors' simulator with its oddities; see docs/marine-nav.md"
    )

    @property
    def num_agents(self) -> int:
        return self.num_robots

    @property
    def metrics(self) -> tuple[Metric, ...]:
        if self.vessels == "sonar":
            return ()
        spent = ENERGY if self.vessels == "thrusters" else EFFORT
        return (*EVALUATION_METRICS, spent, *(SUCCESSES if self.vessels == "thrusters" else ()))

    def check(self, config: TrainConfig) -> None:
        for refusal in self._refusals(config):
            raise ValueError(refusal)

    def _refusals(self, config: TrainConfig) -> Iterator[str]:
        """What is wrong with the stages, or does not go with the rest of the run."""
        is_alone, has_sonar = self.num_robots == 1, self.vessels == "sonar"
        if has_sonar and not is_alone:
            yield f"marine_nav.num_robots = {self.num_robots}: one with a sonar is alone; use 1"
        if is_alone and not has_sonar:
            yield "marine_nav.num_robots = 1: a vessel alone has a sonar; use 2 and more"
        has_thrusters = self.vessels == "thrusters"
        for key, default, is_theirs, whose in (
            ("substeps", 10, has_sonar, "a vessel with a sonar"),
            ("boundary", False, has_sonar, "a vessel with a sonar"),
            ("actions", "continuous", has_thrusters, "thrusters"),
            ("noise", True, has_thrusters, "thrusters"),
        ):
            if not is_theirs and getattr(self, key) != default:
                yield (
                    f"marine_nav.{key} = {getattr(self, key)}: that is for {whose}, and "
                    f"marine_nav.vessels = {self.vessels}; leave it at {str(default).lower()}"
                )
        distances = [self.min_goal_distance_m, *(s.min_goal_distance_m for s in self.curriculum)]
        if not has_thrusters and max(distances) > LONGEST_ON_50_M:
            yield (
                f"marine_nav.min_goal_distance_m = {max(distances):g}: at most "
                f"{LONGEST_ON_50_M:g} on the map of marine_nav.vessels = {self.vessels}"
            )
        has_mask = self.vessels == "thrusters"
        if has_mask and config.normalization.obs and config.learns_from_replay:
            yield (
                "normalization.obs = true: the mask of what is seen has to stay 0 and 1 for "
                f"{config.algorithm}; use marine_nav.scaled_obs"
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
        most_steps = int(MAX_CLOCK) * config.num_rows
        if self.curriculum and self.curriculum[-1].until_env_steps > most_steps:
            yield (
                f"marine_nav.curriculum: until_env_steps = {self.curriculum[-1].until_env_steps}: "
                f"with num_envs = {config.num_envs} stages end by {most_steps}"
            )
