"""One kind of MarineNav world, and its functions with everything that they leave open bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from ...jit.compiling import compiled
from ...jit.templates import rebound
from ...spaces import Box, Discrete
from .. import trigonometry
from ..spec import EnvSpec
from . import constants, environment, kinematic, noise, observing, sonar, vessel
from .constants import NOISE_REACH_M, RANGE_M, SEEN_OBJECTS
from .layout import (
    MOST_STAGES,
    NOISE_SIZE,
    OBS_SIZE,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    STAGE_SIZE,
    VORTEX_SIZE,
    WORLD_SIZE,
)

Vessels = Literal["thrusters", "kinematic", "sonar"]

NUM_DISCRETE = 25
UNLIMITED_M = 1e6


class World(NamedTuple):
    """What MarineNav is compiled for: room for so many things, and what is done with them."""

    robots: int = 5
    obstacles: int = 4
    vortices: int = 0
    actions: Literal["continuous", "discrete"] = "continuous"
    noise: Literal["drawn", "none", "injected"] = "drawn"
    scaled_obs: bool = False
    compatibility: bool = False
    precision: Literal["float32", "float64"] = "float32"
    vessels: Vessels = "thrusters"
    substeps: int = 10
    boundary: bool = False

    @property
    def name(self) -> str:
        """Tells it from all others."""
        sizes = f"{self.robots}_{self.obstacles}_{self.vortices}"
        switches = ["scaled"] * self.scaled_obs + ["compatible"] * self.compatibility
        kinds = [self.vessels, self.actions, self.noise, self.precision]
        switches += ["bounded"] * self.boundary + [str(self.substeps)] * (self.substeps != 10)
        return "_".join(["marine_nav", sizes, *kinds, *switches])

    @property
    def real(self) -> Any:
        return np.float32 if self.precision == "float32" else np.float64

    @property
    def first_rows(self) -> dict[str, int]:
        """Where in the state each list begins, and the size of all."""
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

    @property
    def obs_size(self) -> int:
        sizes = {"kinematic": kinematic.OBS_SIZE, "sonar": sonar.OBS_SIZE}
        return sizes.get(self.vessels, OBS_SIZE)

    @property
    def action_spec(self) -> Box | Discrete:
        if self.vessels != "thrusters":
            return Discrete(kinematic.NUM_ACTIONS)
        return (
            Discrete(NUM_DISCRETE) if self.actions == "discrete" else Box((-1.0,) * 2, (1.0,) * 2)
        )


class Functions(NamedTuple):
    """The functions of `EnvSpec`, and `start`, which begins an episode with the scenario in the
    state.
    """

    reset: Callable[..., Any]
    start: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]


TEMPLATES: dict[Vessels, tuple[Callable[..., Any], ...]] = {
    "thrusters": (environment.reset, environment.start, environment.step, observing.observe),
    "kinematic": (kinematic.reset, kinematic.start, environment.step, kinematic.observe),
    "sonar": (kinematic.reset, kinematic.start, sonar.step, sonar.observe),
}
# What others have in the place of what the templates would call, and of the thrusters' numbers.
PARTS: dict[Vessels, dict[str, Any]] = {
    "thrusters": {},
    "kinematic": {
        "apply_thrust": kinematic.choose,
        "drive": kinematic.drive,
        "perceive": kinematic.perceive,
        "obey_the_rules": kinematic.obey_no_rules,
    },
    "sonar": {"perceive": sonar.perceive},
}
NUMBERS: dict[Vessels, tuple[dict[str, Any], ...]] = {
    "thrusters": (vars(constants),),
    "kinematic": (vars(constants), vars(kinematic), kinematic.NUMBERS),
    "sonar": (vars(constants), vars(kinematic), vars(sonar), sonar.NUMBERS),
}


@dataclass(frozen=True, kw_only=True)
class MarineNavSpec(EnvSpec):
    """What steps a kind of world, and that kind."""

    world: World


@cache
def functions_of(world: World) -> Functions:
    """The scalar functions of a kind of world; those that they call are compiled."""
    made: dict[Any, Any] = {}
    templates = TEMPLATES[world.vessels]
    bound = bindings_of(world)
    return Functions(*(rebound(template, compiled, bound, made) for template in templates))


def numbers_of(world: World) -> dict[str, float]:
    """The constants of a world's kind of vessels, by name."""
    return {
        name: value
        for values in NUMBERS[world.vessels]
        for name, value in values.items()
        if isinstance(value, float)
    }


def bindings_of(world: World) -> dict[str, Any]:
    """What `bindings.py` leaves open, and all of `constants.py` in the world's precision."""
    real = world.real
    numbers = {name: real(value) for name, value in numbers_of(world).items()}
    is_double = world.precision == "float64"
    sees = {"drawn": noise.drawn_noise, "none": noise.no_noise, "injected": noise.injected_noise}
    steers = {
        "continuous": vessel.continuous_thrust_rates,
        "discrete": vessel.discrete_thrust_rates,
    }
    return {
        **numbers,
        **PARTS[world.vessels],
        **world.first_rows,
        "real": real,
        "num_robots": world.robots,
        "num_obstacles": world.obstacles,
        "num_vortices": world.vortices,
        "is_compatible": world.compatibility,
        "has_boundary": world.boundary,
        "NUM_SUBSTEPS": world.substeps,
        "max_noise_m": real(UNLIMITED_M if world.noise == "injected" else NOISE_REACH_M),
        "obs_scale": obs_scale(world).astype(real),
        "perception_noise": sees[world.noise],
        "thrust_rates": steers[world.actions],
        "sine_and_cosine": trigonometry.precise_sine_and_cosine
        if is_double
        else trigonometry.sine_and_cosine,
    }


def obs_scale(world: World) -> np.ndarray:
    """What each number of an observation is multiplied by: most are then within about 1."""
    if not world.scaled_obs:
        return np.ones(world.obs_size)
    if world.vessels == "sonar":
        metre, metre_per_s = 1 / sonar.NUMBERS["RANGE_M"], 1 / kinematic.MAX_SPEED_M_PER_S
        beams = [metre, metre] * sonar.NUM_BEAMS
        return np.array([metre_per_s, metre_per_s, metre, metre, *beams])
    if world.vessels == "kinematic":
        metre, metre_per_s = 1 / kinematic.NUMBERS["RANGE_M"], 1 / kinematic.MAX_SPEED_M_PER_S
        obstacles = [metre, metre, 1.0] * kinematic.NUM_SEEN_OBSTACLES
        robot = [metre, metre, metre_per_s, metre_per_s]
        return np.array(robot + obstacles + robot * kinematic.NUM_SEEN_ROBOTS)
    metre, metre_per_s, newton = 1 / RANGE_M, 1 / 3.0, 1 / constants.MAX_THRUST_N
    itself = [metre, metre, metre_per_s, metre_per_s, 1.0, newton, newton]
    thing = [metre, metre, metre_per_s, metre_per_s, 1.0]
    return np.array(itself + thing * SEEN_OBJECTS + [1.0] * SEEN_OBJECTS)
