"""The scenarios that MarineNav is evaluated on: six settings as the authors', from our generator.

Theirs are not public. These are kept in a file, so that all who report figures play the same ones;
`write` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from ...jit.streams import EVALUATION
from ..vector import VectorEnv
from .scenario import Scenario, read_scenarios, take_scenario, write_scenarios
from .section import MarineNavConfig
from .world import World

FILE = Path(__file__).with_name("six_settings.npz")
SETTINGS = ((3, 0, 30.0), (4, 0, 35.0), (5, 0, 40.0), (5, 2, 40.0), (5, 3, 40.0), (5, 4, 40.0))
EPISODES_EACH = 250
SEED = 253
DIGITS = 4  # after the point, of metres and radians


def six_settings(world: World) -> list[Scenario]:
    """Those that a world has room for; none where it has vortices, which these have not."""
    if world.vortices:
        return []
    return [
        scenario
        for scenario in all_scenarios()
        if len(scenario.starts) <= world.robots and len(scenario.obstacles) <= world.obstacles
    ]


@cache
def all_scenarios() -> Sequence[Scenario]:
    return read_scenarios(FILE)


def write(path: Path = FILE) -> None:
    """Generate all of them anew, and write the file."""
    scenarios = [rounded(scenario) for setting in SETTINGS for scenario in generated(*setting)]
    write_scenarios(path, scenarios)


def generated(num_robots: int, num_obstacles: int, min_goal_distance_m: float) -> list[Scenario]:
    """The scenarios of one setting."""
    from .making import make_spec  # which imports this

    section = MarineNavConfig(
        num_robots=num_robots,
        num_obstacles=num_obstacles,
        min_goal_distance_m=min_goal_distance_m,
    )
    spec = make_spec(section)
    envs = VectorEnv(spec, EPISODES_EACH, SEED, EVALUATION)
    envs.reset(np.zeros((envs.num_rows, spec.obs_size), np.float32))
    fields = envs.state.fields
    return [take_scenario(fields, env, spec.world) for env in range(EPISODES_EACH)]


def rounded(scenario: Scenario) -> Scenario:
    return Scenario(*(part.astype(np.float64).round(DIGITS) for part in scenario))
