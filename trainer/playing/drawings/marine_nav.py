"""Vessels, their goals and wakes, obstacles, the current, and what the selected one can see."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import (
    Points,
    Scene,
    Shape,
    area,
    arrows,
    circle,
    cross,
    disc,
    line,
    text,
    turned,
)
from ...envs.marine_nav.constants import CORE_RADIUS_M, MAP_M, RANGE_M
from ...envs.marine_nav.layout import (
    GOAL_X,
    GOAL_Y,
    HAS_ARRIVED,
    HAS_COLLIDED,
    HEADING,
    IS_ACTIVE,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_VORTICES,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    VORTEX_SIZE,
    X,
    Y,
)

# 5 m x 2.5 m.
HULL = np.array([(-2.5, -1.25), (1.0, -1.25), (2.5, 0.0), (1.0, 1.25), (-2.5, 1.25)])
HEADING_M = 5.0
ARROWS_ACROSS = 14
LONGEST_ARROW_M, FAST_M_PER_S = 3.0, 1.0
WAKE_PIECE = 10  # decisions: pieces that no longer change cost a file nothing


def scene(spec: Any, states: NDArray[Any], selected: int) -> Scene:
    state, first = states[-1], spec.world.first_rows
    num_robots = int(state[NUM_ROBOTS])
    robots = blocks(states, first["first_robot"], ROBOT_SIZE, num_robots)  # [T, R, fields]
    obstacles = blocks(state, first["first_obstacle"], OBSTACLE_SIZE, int(state[NUM_OBSTACLES]))
    vortices = blocks(state, first["first_vortex"], VORTEX_SIZE, int(state[NUM_VORTICES]))
    shapes = [line([(0, 0), (MAP_M, 0), (MAP_M, MAP_M), (0, MAP_M), (0, 0)], "ground")]
    if len(vortices):
        shapes.append(current(tuple(map(tuple, vortices.tolist()))))
    shapes += [disc(obstacle[:2], obstacle[2], "obstacle") for obstacle in obstacles]
    now = robots[-1]
    if selected < num_robots and now[selected, IS_ACTIVE]:
        shapes.append(circle(now[selected, [X, Y]], RANGE_M, "range", selected))
    for robot in range(num_robots):
        shapes += wake(robots[:, robot], robot)
    for robot in range(num_robots):
        shapes += vessel(now[robot], robot)
    endings = tuple("" if r[IS_ACTIVE] else how_it_ended(r) for r in now)
    return Scene((-1, -1), (MAP_M + 1, MAP_M + 1), tuple(shapes), endings=endings)


def blocks(states: NDArray[Any], first: int, size: int, count: int) -> NDArray[Any]:
    """So many things of `size` numbers each from row `first` on, [..., count, size]."""
    rows = states[..., first : first + count * size]
    return rows.reshape(*states.shape[:-1], count, size)


def wake(robot: NDArray[Any], number: int) -> list[Shape]:
    """Where a robot was, [T, fields], until it retired."""
    num_moved = 1 + int(np.count_nonzero(robot[:-1, IS_ACTIVE]))
    way = robot[:num_moved, [X, Y]]
    starts = range(0, num_moved - 1, WAKE_PIECE)
    return [line(way[at : at + WAKE_PIECE + 1], "trail", number) for at in starts]


def vessel(robot: NDArray[Any], number: int) -> list[Shape]:
    """A robot's hull, its heading and goal, with its number."""
    x, y, goal_x, goal_y = robot[[X, Y, GOAL_X, GOAL_Y]]
    role, goal = ("body", "goal") if robot[IS_ACTIVE] else ("retired", "retired")
    hull = turned(HULL, robot[HEADING], x, y)
    bow, ahead = turned([(2.5, 0), (2.5 + HEADING_M, 0)], robot[HEADING], x, y)
    shapes = [cross(goal_x, goal_y, 1.5, goal, number), area(hull, role, number),
              text(goal_x + 1.5, goal_y + 1.5, str(number + 1), goal, number)]  # fmt: skip
    if role == "body":
        shapes.append(arrows([bow], [ahead - bow], "part", number))
    return [*shapes, text(x + 2, y + 2, str(number + 1), role, number)]


def how_it_ended(robot: NDArray[Any]) -> str:
    if robot[HAS_COLLIDED]:
        return "collided"
    return "arrived" if robot[HAS_ARRIVED] else "out of time"


@lru_cache(maxsize=1)  # it is the same for a whole episode
def current(vortices: tuple[tuple[float, ...], ...]) -> Shape:
    """Arrows on a grid; those of more than `FAST_M_PER_S` are as long as they get."""
    ticks = (np.arange(ARROWS_ACROSS) + 0.5) * MAP_M / ARROWS_ACROSS
    places = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    flow = flow_at(np.array(vortices), places)
    speed = np.hypot(*flow.T)[:, None]
    vectors = flow / np.maximum(speed, 1e-9) * np.minimum(speed / FAST_M_PER_S, 1) ** 0.5
    return arrows(places - LONGEST_ARROW_M / 2 * vectors, LONGEST_ARROW_M * vectors, "current")


def flow_at(vortices: NDArray[Any], places: Points) -> Points:
    """The current at `places` [P, 2] as `currents.py` has it, in m/s."""
    x, y, is_clockwise, circulation = vortices.T.astype(np.float64)
    dx, dy = x - places[:, :1], y - places[:, 1:]
    distance = np.maximum(np.hypot(dx, dy), 1e-6)
    speed = circulation / (2 * np.pi * np.maximum(distance, CORE_RADIUS_M**2 / distance))
    share = np.where(is_clockwise > 0, 1, -1) * speed / distance
    flow: Points = np.stack([-(share * dy).sum(1), (share * dx).sum(1)], 1)
    return flow
