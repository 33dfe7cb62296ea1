"""The `EnvSpec` of MarineNav: the sizes and choices that it is compiled for, and its functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ...jit.compiling import compiled
from ...jit.streams import EVALUATION
from ...jit.templates import rebound_all
from ...spaces import Discrete, symmetric_box
from .. import trigonometry
from ..spec import Array, EnvSpec
from . import constants, environment, noise, random_scenarios, vessel
from .constants import MAX_CLOCK, RANGE_M, SEEN_OBJECTS
from .layout import (
    MISSING_OBSTACLES,
    MISSING_ROBOTS,
    MISSING_VORTICES,
    MOST_STAGES,
    NOISE_SIZE,
    NUM_STAGES,
    OBS_SIZE,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    SHORT_EPISODES,
    STAGE_SIZE,
    VORTEX_SIZE,
    WORLD_SIZE,
)
from .section import MarineNavConfig, Stage

if TYPE_CHECKING:
    from ...policies.encoder import Encoder
    from ...returns.episodes import Evaluation
    from .scenario import Scenario

MAX_DECISIONS = 1000
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


@cache
def make_spec(section: MarineNavConfig | None = None) -> MarineNavSpec:
    """MarineNav with the settings of the table `[marine_nav]`, by default with its defaults."""
    section = MarineNavConfig() if section is None else section
    world = world_of(section)
    functions = functions_of(world)
    thrusts = Discrete(25) if world.actions == "discrete" else symmetric_box(1.0, 1.0)
    return MarineNavSpec(
        name=world.name,
        state_size=world.first_rows["state_size"],
        obs_size=OBS_SIZE,
        actions=thrusts,
        max_episode_steps=MAX_DECISIONS,
        reset=functions.reset,
        step=functions.step,
        observe=functions.observe,
        num_agents=world.robots,
        prepare=stage_writer(section, world),
        make_encoder=make_encoder,
        evaluate=evaluate,
        scenarios=partial(scenarios_in, world),
        notice=shortage,
        world=world,
    )


def make_encoder(seed: int) -> Encoder:
    """`EnvSpec.make_encoder`."""
    from .encoder import ObjectEncoder  # torch takes a second to import

    return ObjectEncoder(seed)


def evaluate(*arguments: Any, **options: Any) -> Evaluation:
    """`EnvSpec.evaluate`."""
    from .evaluating import evaluate  # which imports this

    return evaluate(*arguments, **options)


def scenarios_in(world: World, path: Path | None) -> Sequence[Scenario]:
    """`EnvSpec.scenarios`."""
    from .scenario import check_room, read_scenarios, six_settings

    if path is None:
        return six_settings(world)
    found = read_scenarios(path)
    for number, scenario in enumerate(found):
        check_room(scenario, world, f"{path}, scenario {number}:")
    return found


def world_of(section: MarineNavConfig) -> World:
    """The sizes and choices that a table's world is compiled for."""
    return World(
        robots=section.num_robots,
        obstacles=section.num_obstacles,
        vortices=section.num_vortices,
        actions=section.actions,
        noise="drawn" if section.noise else "none",
    )


def stage_writer(section: MarineNavConfig, world: World) -> Callable[[Array, int, int], None]:
    """`EnvSpec.prepare`: write the curriculum's stages, with their ends in decisions of one world.

    Evaluations use the world after the curriculum.
    """
    last = Stage(
        until_env_steps=10**15,
        num_robots=section.num_robots,
        num_obstacles=section.num_obstacles,
        num_vortices=section.num_vortices,
        min_goal_distance_m=section.min_goal_distance_m,
    )

    def write_stages(state: Array, num_envs: int, stream: int) -> None:
        state[NUM_STAGES] = len(section.curriculum) + 1
        row = world.first_rows["first_stage"]
        for stage in (*section.curriculum, last):
            decisions = -(-stage.until_env_steps // (num_envs * world.robots))
            state[row : row + STAGE_SIZE] = np.array(
                [
                    0 if stream == EVALUATION else min(decisions, MAX_CLOCK),
                    stage.num_robots,
                    stage.num_obstacles,
                    stage.num_vortices,
                    stage.min_goal_distance_m,
                ]
            )[:, None]
            row += STAGE_SIZE

    return write_stages


def shortage(state: Array) -> str:
    """`EnvSpec.notice`: the number of objects that found no room."""
    rows = (SHORT_EPISODES, MISSING_ROBOTS, MISSING_OBSTACLES, MISSING_VORTICES)
    episodes, robots, obstacles, vortices = (int(state[row].sum(dtype=np.float64)) for row in rows)
    if not episodes:
        return ""
    return (
        f"marine_nav: {episodes} episodes began with fewer objects than asked for, since there was "
        f"no room after 500 proposals: {robots} robots, {obstacles} obstacles and {vortices} "
        "vortices are missing"
    )
