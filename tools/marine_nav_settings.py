#!/usr/bin/env python3
"""Generate the scenarios of trainer/envs/marine_nav/six_settings.npz, and write the file.

Run in the project: .venv/bin/python tools/marine_nav_settings.py
"""

from __future__ import annotations

import numpy as np

from operant.trainer.envs.marine_nav import layout
from operant.trainer.envs.marine_nav.compiled_world import World
from operant.trainer.envs.marine_nav.scenario import SIX_SETTINGS, Scenario, write_scenarios
from operant.trainer.envs.marine_nav.section import MarineNavConfig
from operant.trainer.envs.marine_nav.world import make_spec
from operant.trainer.envs.vector import VectorEnv
from operant.trainer.jit.streams import EVALUATION

SETTINGS = ((3, 0, 30.0), (4, 0, 35.0), (5, 0, 40.0), (5, 2, 40.0), (5, 3, 40.0), (5, 4, 40.0))
EPISODES_EACH = 250
SEED = 253
DIGITS = 4  # after the point, of metres and radians


def generated(num_robots: int, num_obstacles: int, min_goal_distance_m: float) -> list[Scenario]:
    """The scenarios of one setting."""
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


def take_scenario(state: np.ndarray, env: int, world: World) -> Scenario:
    """The scenario that column `env` of `state` began its episode with, before its first step."""
    counts = state[[layout.NUM_ROBOTS, layout.NUM_OBSTACLES, layout.NUM_VORTICES], env].astype(int)
    first = world.first_rows
    robots = first["first_robot"] + layout.ROBOT_SIZE * np.arange(counts[0])

    def things(name: str, count: int, size: int) -> np.ndarray:
        rows: np.ndarray = state[first[name] : first[name] + count * size, env].reshape(count, size)
        return rows.copy()

    return Scenario(
        starts=np.stack([state[robots + layout.X, env], state[robots + layout.Y, env]], 1),
        goals=np.stack([state[robots + layout.GOAL_X, env], state[robots + layout.GOAL_Y, env]], 1),
        headings=state[robots + layout.HEADING, env],
        obstacles=things("first_obstacle", counts[1], layout.OBSTACLE_SIZE),
        vortices=things("first_vortex", counts[2], layout.VORTEX_SIZE),
    )


def rounded(scenario: Scenario) -> Scenario:
    return Scenario(*(part.astype(np.float64).round(DIGITS) for part in scenario))


if __name__ == "__main__":
    chosen = [rounded(scenario) for setting in SETTINGS for scenario in generated(*setting)]
    write_scenarios(SIX_SETTINGS, chosen)
