"""What a policy observes: 37 numbers for each robot.

Goal (x, y), velocity over ground (surge, sway) and yaw rate in the body frame, thrusts left and
right; five rows of (x, y, vx, vy, radius), nearest first; a mask that says which rows are objects.
"""

from __future__ import annotations

from ..trigonometry import sine_and_cosine
from .bindings import num_robots, obs_scale, real
from .constants import ONE, SEEN_OBJECTS, ZERO
from .layout import (
    GOAL_X,
    GOAL_Y,
    GROUND_VX,
    GROUND_VY,
    HEADING,
    IS_AWARE,
    LEFT_N,
    MASK,
    NUM_SEEN,
    OBJECT_SIZE,
    OBJECTS,
    OBS_SIZE,
    RIGHT_N,
    SEEN_YAW_RATE,
    SELF_SIZE,
    X,
    Y,
    robot_row,
)


def observe(state, env, obs):
    """Write the rows of all robots: zeros where one has retired, or is not there."""
    for robot in range(num_robots):
        place = env * num_robots + robot
        row = robot_row(robot)
        if state[row + IS_AWARE, env] > ZERO:
            observe_itself(state, env, row, obs, place)
            observe_objects(state, env, row, obs, place)
        else:
            for part in range(OBS_SIZE):
                obs[place, part] = ZERO


def observe_itself(state, env, row, obs, place):
    sine, cosine = sine_and_cosine(state[row + HEADING, env])
    dx = state[row + GOAL_X, env] - state[row + X, env]
    dy = state[row + GOAL_Y, env] - state[row + Y, env]
    vx, vy = state[row + GROUND_VX, env], state[row + GROUND_VY, env]
    obs[place, 0] = (cosine * dx + sine * dy) * obs_scale[0]
    obs[place, 1] = (cosine * dy - sine * dx) * obs_scale[1]
    obs[place, 2] = (cosine * vx + sine * vy) * obs_scale[2]
    obs[place, 3] = (cosine * vy - sine * vx) * obs_scale[3]
    obs[place, 4] = state[row + SEEN_YAW_RATE, env] * obs_scale[4]
    obs[place, 5] = state[row + LEFT_N, env] * obs_scale[5]
    obs[place, 6] = state[row + RIGHT_N, env] * obs_scale[6]


def observe_objects(state, env, row, obs, place):
    for slot in range(SEEN_OBJECTS):
        is_there = real(slot) < state[row + NUM_SEEN, env]
        for part in range(OBJECT_SIZE):
            field = slot * OBJECT_SIZE + part
            value = state[row + OBJECTS + field, env] * obs_scale[SELF_SIZE + field]
            obs[place, SELF_SIZE + field] = value if is_there else ZERO
        obs[place, MASK + slot] = ONE if is_there else ZERO
