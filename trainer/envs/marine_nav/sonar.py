"""MarineNav of one kinematic vessel that sees by eleven beams of a sonar.

Source: Lin et al. 2023, arXiv:2307.16240, and its public simulator.
"""

from __future__ import annotations

import math

from ..trigonometry import sine_and_cosine
from .bindings import has_boundary, is_compatible, num_obstacles, obs_scale, real
from .constants import HULL_RADIUS_M, MAP_M, MAX_CLOCK, ONE, RANGE_M, STEP_REWARD, ZERO
from .kinematic import apply, drive, gap, offset, tell_arrival, turn_into
from .layout import (
    CLOCK,
    DECISION,
    GOAL_DISTANCE,
    GOAL_X,
    GOAL_Y,
    GROUND_VX,
    GROUND_VY,
    HAS_COLLIDED,
    HEADING,
    IS_ACTIVE,
    NUM_OBSTACLES,
    OBSTACLE_RADIUS,
    OBSTACLE_X,
    OBSTACLE_Y,
    X,
    Y,
    obstacle_row,
    robot_row,
)
from .rewards import outcome

NUM_BEAMS, OWN_SIZE = 11, 4
OBS_SIZE = OWN_SIZE + 2 * NUM_BEAMS
FIRST_BEAM_RAD, BETWEEN_BEAMS_RAD = -math.pi / 3, math.pi / 15
FAR_M = 1e9

NUMBERS = {
    "MAP_M": 50.0, "VESSEL_GAP_M": 10.0, "HULL_RADIUS_M": 0.8, "RANGE_M": 10.0, "STEP_S": 0.1,
    "MIN_EDGE_SPEED_M_PER_S": 5.0, "MAX_EDGE_SPEED_M_PER_S": 10.0,
    "MIN_OBSTACLE_RADIUS_M": 1.0, "MAX_OBSTACLE_RADIUS_M": 3.0,
    "STEP_REWARD": -1.0, "COLLISION_REWARD": -50.0, "GOAL_REWARD": 100.0,
}  # fmt: skip


def step(state, env, action):
    """One decision, of one second; returns (reward, terminated)."""
    state[CLOCK, env] = min(state[CLOCK, env] + ONE, MAX_CLOCK)
    state[DECISION, env] += ONE
    row = robot_row(0)
    apply(state, env, row, action)
    drive(state, env, 0)
    distance_before = state[row + GOAL_DISTANCE, env]
    perceive(state, env, 0, 0)
    reward, is_over = outcome(state, env, 0, distance_before)
    x, y = state[row + X, env], state[row + Y, env]
    if has_boundary and (min(x, y) < ZERO or max(x, y) > MAP_M):
        reward = STEP_REWARD + distance_before - state[row + GOAL_DISTANCE, env]
        is_over = True
    state[row + IS_ACTIVE, env] = ZERO if is_over else ONE
    return reward, is_over


def perceive(state, env, robot, random):
    """Tell whether the vessel has arrived, or touches an obstacle.

    The authors' simulator looks at the obstacle with the nearest middle alone.
    """
    row = robot_row(robot)
    tell_arrival(state, env, row)
    nearest_m = FAR_M
    for obstacle in range(num_obstacles):
        if real(obstacle) < state[NUM_OBSTACLES, env]:
            other = obstacle_row(obstacle)
            middle_m = gap(state, env, row, other + OBSTACLE_X, other + OBSTACLE_Y)
            touches = middle_m <= state[other + OBSTACLE_RADIUS, env] + HULL_RADIUS_M
            if is_compatible:
                if middle_m < nearest_m:
                    state[row + HAS_COLLIDED, env] = ONE if touches else ZERO
            elif touches:
                state[row + HAS_COLLIDED, env] = ONE
            nearest_m = min(nearest_m, middle_m)


def observe(state, env, obs):
    """26 numbers: velocity over ground and goal, then where each beam hits: (0, 0) for nowhere.

    In the body frame, beams from 60 degrees to port to 60 degrees to starboard.
    """
    row = robot_row(0)
    velocity = state[row + GROUND_VX, env], state[row + GROUND_VY, env]
    goal = offset(state, env, row, row + GOAL_X, row + GOAL_Y)
    turn_into(state, env, row, velocity, obs, env, 0)
    turn_into(state, env, row, goal, obs, env, 2)
    for beam in range(NUM_BEAMS):
        angle = FIRST_BEAM_RAD + real(beam) * BETWEEN_BEAMS_RAD
        distance = hit_m(state, env, row, state[row + HEADING, env] + angle)
        sine, cosine = sine_and_cosine(angle)
        part = OWN_SIZE + 2 * beam
        obs[env, part] = distance * cosine * obs_scale[part]
        obs[env, part + 1] = distance * sine * obs_scale[part + 1]


def hit_m(state, env, row, angle):
    """How far along a beam the first obstacle is; 0 where none is in range.

    The authors' simulator looks no further once an obstacle that is hit is not nearer.
    """
    sine, cosine = sine_and_cosine(angle)
    best = FAR_M
    for obstacle in range(num_obstacles):
        if real(obstacle) < state[NUM_OBSTACLES, env]:
            other = obstacle_row(obstacle)
            dx, dy = offset(state, env, row, other + OBSTACLE_X, other + OBSTACLE_Y)
            radius = state[other + OBSTACLE_RADIUS, env]
            along, across = cosine * dx + sine * dy, cosine * dy - sine * dx
            half_chord_2 = radius * radius - across * across
            if half_chord_2 >= ZERO:
                half_chord = math.sqrt(half_chord_2)
                near, far = along - half_chord, along + half_chord
                distance = near if abs(near) <= abs(far) else far
                if ZERO <= distance <= RANGE_M:
                    if distance < best:
                        best = distance
                    elif is_compatible:
                        break
    return best if best < FAR_M else ZERO
