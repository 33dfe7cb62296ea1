"""The sizes and choices that MarineNav is compiled for, and its compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from ...jit.compiling import compiled
from ...jit.templates import rebound_all
from .. import trigonometry
from ..spec import EnvSpec
from . import constants, environment, noise, random_scenarios, vessel
from .constants import RANGE_M, SEEN_OBJECTS
from .layout import (
    MOST_STAGES,
    NOISE_SIZE,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    STAGE_SIZE,
    VORTEX_SIZE,
    WORLD_SIZE,
)

NOISE_REACH_M = 0.5  # more than the noise drawn can shift anything
UNLIMITED_M = 1e6

# Factors of the numbers of an observation, which bring most of them within about 1.
METRE, METRE_PER_S, NEWTON = 1 / RANGE_M, 1 / 3.0, 1 / vessel.MAX_THRUST_N
THING_SCALE = (METRE, METRE, METRE_PER_S, METRE_PER_S, 1.0)
OBS_SCALE = np.array(
    (*THING_SCALE, NEWTON, NEWTON, *THING_SCALE * SEEN_OBJECTS, *[1.0] * SEEN_OBJECTS)
)


class World(NamedTuple):
    """The sizes and choices that MarineNav is compiled for."""

    robots: int = 5
    obstacles: int = 4
    vortices: int = 0
    actions: Literal["continuous", "discrete"] = "continuous"
    noise: Literal["drawn", "none", "injected"] = "drawn"
    precision: Literal["float32", "float64"] = "float32"

    @property
    def name(self) -> str:
        """A name that differs from those of all other worlds."""
        return "_".join(["marine_nav", *map(str, self)])

    @property
    def first_rows(self) -> dict[str, int]:
        """The rows of the state in which its lists begin, and the number of all rows."""
        robots = WORLD_SIZE
        obstacles = robots + self.robots * ROBOT_SIZE
        vortices = obstacles + self.obstacles * OBSTACLE_SIZE
        stages = vortices + self.vortices * VORTEX_SIZE
        noise_rows = stages + MOST_STAGES * STAGE_SIZE
        num_pairs = self.robots * (self.robots + self.obstacles) * (self.noise == "injected")
        return {
            "first_robot": robots,
            "first_obstacle": obstacles,
            "first_vortex": vortices,
            "first_stage": stages,
            "first_noise": noise_rows,
            "state_size": noise_rows + num_pairs * NOISE_SIZE,
        }


class Functions(NamedTuple):
    """The functions of `EnvSpec`, and `start`, which begins an episode with a given scenario."""

    reset: Callable[..., Any]
    start: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class MarineNavSpec(EnvSpec):
    """An `EnvSpec` with the world that it was compiled for."""

    world: World


@cache
def functions_of(world: World) -> Functions:
    """The scalar functions of a world, in which all functions that they call are compiled."""
    templates = (environment.reset, environment.start, environment.step, environment.observe)
    return Functions(*rebound_all(templates, compiled, bindings_of(world)))


def bindings_of(world: World) -> dict[str, Any]:
    """The values of the names in `bindings.py`, and all real constants in the world's precision."""
    real: Any = getattr(np, world.precision)
    numbers = {
        name: real(value)
        for module in (constants, environment, noise, random_scenarios, vessel)
        for name, value in vars(module).items()
        if isinstance(value, float)
    }
    is_double = world.precision == "float64"
    sees = {"drawn": noise.drawn_noise, "none": noise.no_noise, "injected": noise.injected_noise}
    steers = {
        "continuous": vessel.continuous_thrust_rates,
        "discrete": vessel.discrete_thrust_rates,
    }
    return {
        **numbers,
        **world.first_rows,
        "real": real,
        "num_robots": world.robots,
        "num_obstacles": world.obstacles,
        "num_vortices": world.vortices,
        "max_noise_m": real(UNLIMITED_M if world.noise == "injected" else NOISE_REACH_M),
        "obs_scale": OBS_SCALE.astype(real),
        "perception_noise": sees[world.noise],
        "thrust_rates": steers[world.actions],
        "sine_and_cosine": trigonometry.precise_sine_and_cosine
        if is_double
        else trigonometry.sine_and_cosine,
    }
