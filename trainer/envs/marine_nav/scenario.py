"""A scenario as people and files have it, and how a world begins an episode with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ...jit.compiling import compiled, specialised
from ..bindings import env_reset, observe
from ..vector import VectorEnv
from .kinematic import SPEED
from .layout import (
    GOAL_X,
    GOAL_Y,
    HEADING,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_VORTICES,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    VORTEX_SIZE,
    X,
    Y,
)
from .world import MarineNavSpec, World, functions_of

Array = NDArray[Any]


class Scenario(NamedTuple):
    """R robots' starts and goals [R, 2] in m and headings [R] in radians; obstacles [O, 3]: x, y,
    radius in m; vortices [V, 4]: x, y in m, 1 if clockwise, circulation in m2/s. Kinematic vessels
    have speeds [R] in m/s, 0 where there are none.
    """

    starts: Array
    goals: Array
    headings: Array
    obstacles: Array
    vortices: Array
    speeds: Array | None = None


def take_scenario(state: Array, env: int, world: World) -> Scenario:
    """The scenario that column `env` of `state` began its episode with, before its first step."""
    counts = state[[NUM_ROBOTS, NUM_OBSTACLES, NUM_VORTICES], env].astype(int)
    first = world.first_rows
    robots = first["first_robot"] + ROBOT_SIZE * np.arange(counts[0])

    def things(name: str, count: int, size: int) -> Array:
        rows: Array = state[first[name] : first[name] + count * size, env].reshape(count, size)
        return rows.copy()

    return Scenario(
        starts=np.stack([state[robots + X, env], state[robots + Y, env]], 1),
        goals=np.stack([state[robots + GOAL_X, env], state[robots + GOAL_Y, env]], 1),
        headings=state[robots + HEADING, env],
        obstacles=things("first_obstacle", counts[1], OBSTACLE_SIZE),
        vortices=things("first_vortex", counts[2], VORTEX_SIZE),
    )


def load_scenario(envs: VectorEnv, env: int, scenario: Scenario, obs: Array) -> None:
    """Begin an episode with a scenario in environment `env` of a vector environment of MarineNav;
    writes its rows of `obs` [R, D]. Raises ConfigError where there is no room.
    """
    spec = envs.spec
    assert isinstance(spec, MarineNavSpec)
    put_scenario(envs.state.fields, env, scenario, spec.world)
    envs.state.elapsed[env] = 0
    envs.state.episode[env] += 1  # with noise of its own
    envs.state.episode_return[env * spec.num_agents : (env + 1) * spec.num_agents] = 0.0
    source = envs.source
    number, episode = source.first_env + env, envs.state.episode[env]
    begin = beginning(spec.world)
    begin(envs.state.fields, env, (number, episode, source.seed, source.stream), obs)


@cache
def beginning(world: World) -> Callable[..., None]:
    """The compiled beginning of an episode with the scenario in the state."""
    functions = functions_of(world)
    return specialised(
        begin_with, world.name, env_reset=compiled(functions.start),
        observe=compiled(functions.observe),
    )  # fmt: skip


def begin_with(fields: Any, env: Any, random: Any, obs: Any) -> None:
    """Begin an episode with what is in column `env` already; writes its rows of `obs`."""
    env_reset(fields, env, random)
    observe(fields, env, obs)


def check_room(scenario: Scenario, world: World, where: str = "a scenario") -> list[int]:
    """The numbers of robots, obstacles and vortices. Raises ConfigError where there is no room."""
    things = (scenario.starts, scenario.obstacles, scenario.vortices)
    counts = [len(thing) for thing in things]
    room = (world.robots, world.obstacles, world.vortices)
    for name, count, most in zip(("robots", "obstacles", "vortices"), counts, room, strict=True):
        if count > most:
            raise ConfigError(
                f"{where} has {count} {name}, and the run's world has room for {most}, the most "
                f"that marine_nav.num_{name} and its curriculum had"
            )
    return counts


def put_scenario(state: Array, env: int, scenario: Scenario, world: World) -> None:
    """Write a scenario into column `env` of `state`. Raises ConfigError where there is no room."""
    counts = check_room(scenario, world)
    state[[NUM_ROBOTS, NUM_OBSTACLES, NUM_VORTICES], env] = counts
    first = world.first_rows
    robot_rows = first["first_robot"] + ROBOT_SIZE * np.arange(counts[0])
    state[robot_rows + X, env] = scenario.starts[:, 0]
    state[robot_rows + Y, env] = scenario.starts[:, 1]
    state[robot_rows + GOAL_X, env] = scenario.goals[:, 0]
    state[robot_rows + GOAL_Y, env] = scenario.goals[:, 1]
    state[robot_rows + HEADING, env] = scenario.headings
    if world.vessels != "thrusters":
        state[robot_rows + SPEED, env] = 0.0 if scenario.speeds is None else scenario.speeds
    for thing, size, name in (
        (scenario.obstacles, OBSTACLE_SIZE, "first_obstacle"),
        (scenario.vortices, VORTEX_SIZE, "first_vortex"),
    ):
        begin = first[name]
        state[begin : begin + len(thing) * size, env] = thing.reshape(-1)
