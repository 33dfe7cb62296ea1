"""MarineNav's episodes: how they begin, what a decision of all robots does, what they see."""

from __future__ import annotations

from .bindings import num_robots, real
from .constants import MAX_CLOCK, ONE, ZERO
from .currents import current_at
from .layout import (
    CLOCK,
    DECISION,
    ENERGY,
    EVASION_RAD,
    GOAL_DISTANCE,
    GROUND_VX,
    GROUND_VY,
    HAS_ARRIVED,
    HAS_COLLIDED,
    IS_ACTIVE,
    IS_AWARE,
    LEFT_N,
    NUM_ROBOTS,
    NUM_SEEN,
    RIGHT_N,
    SEEN_YAW_RATE,
    WATER_VX,
    WATER_VY,
    YAW_RATE,
    X,
    Y,
    robot_row,
)
from .rewards import obey_the_rules, outcome
from .scenarios import generate
from .sensing import perceive
from .vessel import apply_thrust, drive


def reset(state, env, random):
    """Begin an episode with a scenario of the curriculum's stage."""
    generate(state, env, random)
    start(state, env, random)


def start(state, env, random):
    """Begin an episode with the scenario that is in the state: starts, headings and goals,
    obstacles and vortices, and how many there are of each. All robots are at rest in the water.
    """
    forget_episode(state, env)
    for robot in range(num_robots):
        row = robot_row(robot)
        for field in (WATER_VX, WATER_VY, YAW_RATE, SEEN_YAW_RATE, LEFT_N, RIGHT_N):
            state[row + field, env] = ZERO
        if state[row + IS_ACTIVE, env] > ZERO:
            vx, vy = current_at(state, env, state[row + X, env], state[row + Y, env])
            state[row + GROUND_VX, env], state[row + GROUND_VY, env] = vx, vy
    for robot in range(num_robots):
        if state[robot_row(robot) + IS_ACTIVE, env] > ZERO:
            perceive(state, env, robot, random)


def forget_episode(state, env):
    """Nobody has done anything yet, and all robots that there are take part."""
    state[DECISION, env] = ZERO
    for robot in range(num_robots):
        row = robot_row(robot)
        for field in (GROUND_VX, GROUND_VY, HAS_COLLIDED, HAS_ARRIVED, EVASION_RAD, ENERGY):
            state[row + field, env] = ZERO
        state[row + NUM_SEEN, env] = ZERO
        state[row + IS_ACTIVE, env] = ONE if real(robot) < state[NUM_ROBOTS, env] else ZERO
        state[row + IS_AWARE, env] = state[row + IS_ACTIVE, env]


def step(state, env, random, actions, reward, terminated, valid):
    """One decision of all robots, half a second; returns whether all have retired."""
    state[CLOCK, env] = min(state[CLOCK, env] + ONE, MAX_CLOCK)
    state[DECISION, env] += ONE
    for robot in range(num_robots):
        row = robot_row(robot)
        is_active = state[row + IS_ACTIVE, env] > ZERO
        state[row + IS_AWARE, env] = state[row + IS_ACTIVE, env]
        valid[env * num_robots + robot] = is_active
        if is_active:
            apply_thrust(state, env, robot, actions)
            drive(state, env, robot)
    num_left = 0
    for robot in range(num_robots):
        row = robot_row(robot)
        if state[row + IS_AWARE, env] > ZERO:
            distance_before = state[row + GOAL_DISTANCE, env]
            perceive(state, env, robot, random)
            obey_the_rules(state, env, robot)
            worth, is_over = outcome(state, env, robot, distance_before)
            reward[env * num_robots + robot] = worth
            terminated[env * num_robots + robot] = is_over
            num_left += 0 if is_over else 1
    for robot in range(num_robots):
        # Only now: they were there for all others to see.
        row = robot_row(robot)
        if state[row + IS_AWARE, env] > ZERO and terminated[env * num_robots + robot]:
            state[row + IS_ACTIVE, env] = ZERO
    return num_left == 0
