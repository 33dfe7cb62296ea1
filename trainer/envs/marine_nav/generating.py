"""Generates the scenarios that MarineNav is evaluated on, once and for all: `six_settings.py`."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from ...jit.streams import EVALUATION
from ..vector import VectorEnv
from .making import make_spec
from .scenario import Scenario, take_scenario
from .scenario_files import scenarios_text
from .section import MarineNavConfig
from .six_settings import EPISODES_EACH, FILE, SETTINGS

SEED = 253
DIGITS = 4  # after the point, of metres and radians


def write(path: Path = FILE) -> None:
    """Generate all of them anew, and write the file."""
    scenarios = [rounded(scenario) for setting in SETTINGS for scenario in generated(*setting)]
    path.write_bytes(gzip.compress(scenarios_text(scenarios).encode(), mtime=0))


def generated(num_robots: int, num_obstacles: int, min_goal_distance_m: float) -> list[Scenario]:
    """The scenarios of one setting."""
    section = MarineNavConfig(
        num_robots=num_robots, num_obstacles=num_obstacles,
        min_goal_distance_m=min_goal_distance_m,
    )  # fmt: skip
    spec = make_spec(section)
    envs = VectorEnv(spec, EPISODES_EACH, SEED, EVALUATION)
    envs.reset(np.zeros((envs.num_rows, spec.obs_size), np.float32))
    fields = envs.state.fields
    return [take_scenario(fields, env, spec.world) for env in range(EPISODES_EACH)]


def rounded(scenario: Scenario) -> Scenario:
    parts = (part for part in scenario if part is not None)
    return Scenario(*(part.astype(np.float64).round(DIGITS) for part in parts))
