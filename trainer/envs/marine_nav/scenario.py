"""A scenario as people and files have it, and how it gets into a world's state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
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
from .world import World

Array = NDArray[Any]


class Scenario(NamedTuple):
    """R robots' starts and goals [R, 2] in m and headings [R] in radians; obstacles [O, 3]: x, y,
    radius in m; vortices [V, 4]: x, y in m, 1 if clockwise, circulation in m2/s.
    """

    starts: Array
    goals: Array
    headings: Array
    obstacles: Array
    vortices: Array


def put_scenario(state: Array, env: int, scenario: Scenario, world: World) -> None:
    """Write a scenario into column `env` of `state`. Raises ConfigError where there is no room."""
    things = (scenario.starts, scenario.obstacles, scenario.vortices)
    counts = [len(thing) for thing in things]
    room = (world.robots, world.obstacles, world.vortices)
    for name, count, most in zip(("robots", "obstacles", "vortices"), counts, room, strict=True):
        if count > most:
            raise ConfigError(f"a scenario has {count} {name}, and the world has room for {most}")
    state[[NUM_ROBOTS, NUM_OBSTACLES, NUM_VORTICES], env] = counts
    first = world.first_rows
    robot_rows = first["first_robot"] + ROBOT_SIZE * np.arange(counts[0])
    state[robot_rows + X, env] = scenario.starts[:, 0]
    state[robot_rows + Y, env] = scenario.starts[:, 1]
    state[robot_rows + GOAL_X, env] = scenario.goals[:, 0]
    state[robot_rows + GOAL_Y, env] = scenario.goals[:, 1]
    state[robot_rows + HEADING, env] = scenario.headings
    for thing, size, name in (
        (scenario.obstacles, OBSTACLE_SIZE, "first_obstacle"),
        (scenario.vortices, VORTEX_SIZE, "first_vortex"),
    ):
        begin = first[name]
        state[begin : begin + len(thing) * size, env] = thing.reshape(-1)
