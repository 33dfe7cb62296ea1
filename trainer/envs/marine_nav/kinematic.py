"""MarineNav of vessels with a speed and a heading, which they choose to change, among vortices.

What differs from vessels with thrusters: how they move, what they choose, and what they see, which
is without errors. `world.py` puts these in the place of the others, and `NUMBERS` of theirs.
Source: Lin et al. 2024, arXiv:2402.11799, and its public simulator.
"""

from __future__ import annotations

import math

from ...jit.streams import four_words
from ..trigonometry import sine_and_cosine
from .bindings import is_compatible, num_obstacles, num_robots, obs_scale, real
from .constants import GOAL_RADIUS_M, HULL_RADIUS_M, NUM_SUBSTEPS, ONE, RANGE_M, STEP_S, ZERO
from .currents import current_at
from .environment import forget_episode
from .layout import ENERGY as EFFORT  # from 0 to 2 a decision
from .layout import (
    GOAL_DISTANCE,
    GOAL_X,
    GOAL_Y,
    GROUND_VX,
    GROUND_VY,
    HAS_ARRIVED,
    HAS_COLLIDED,
    HEADING,
    IS_ACTIVE,
    IS_AWARE,
    LEFT_N,
    NUM_OBSTACLES,
    OBSTACLE_RADIUS,
    OBSTACLE_X,
    OBSTACLE_Y,
    RIGHT_N,
    WATER_VX,
    X,
    Y,
    obstacle_row,
    robot_row,
)
from .noise import fraction
from .scenarios import HEADING_BLOCK, generate
from .vessel import within_a_turn

# In the place of what these vessels have not.
SPEED, ACCELERATION, TURN_RATE = WATER_VX, LEFT_N, RIGHT_N

MAX_SPEED_M_PER_S = 2.0
MAX_ACCELERATION_M_PER_S2, MAX_TURN_RATE_RAD_PER_S = 0.4, math.pi / 6
DRAG_PER_S = 0.2
SEEN_RADIUS_M = 0.5 * math.hypot(1.0, 0.5)  # of a vessel, as far as it is in range
FAR_M = 1e9
NUM_ACTIONS = 9

NUM_SEEN_OBSTACLES, NUM_SEEN_ROBOTS = 5, 5
OWN_SIZE, SEEN_OBSTACLE_SIZE, SEEN_ROBOT_SIZE = 4, 3, 4
FIRST_SEEN_ROBOT = OWN_SIZE + NUM_SEEN_OBSTACLES * SEEN_OBSTACLE_SIZE
OBS_SIZE = FIRST_SEEN_ROBOT + NUM_SEEN_ROBOTS * SEEN_ROBOT_SIZE

NUMBERS = {
    "MAP_M": 50.0, "VESSEL_GAP_M": 5.0, "HULL_RADIUS_M": 0.8, "RANGE_M": 15.0,
    "MIN_EDGE_SPEED_M_PER_S": 5.0, "MAX_EDGE_SPEED_M_PER_S": 10.0,
    "STEP_REWARD": -1.0, "COLLISION_REWARD": -50.0, "GOAL_REWARD": 100.0,
}  # fmt: skip


def reset(state, env, random):
    """Begin an episode with a scenario of the curriculum's stage, at any speeds."""
    generate(state, env, random)
    for robot in range(num_robots):
        _, word, _, _ = four_words(random, HEADING_BLOCK + robot)
        state[robot_row(robot) + SPEED, env] = MAX_SPEED_M_PER_S * fraction(word)
    begin(state, env, random, not is_compatible)


def start(state, env, random):
    """Begin an episode with the scenario that is in the state, its speeds as well."""
    begin(state, env, random, True)


def begin(state, env, random, feels_current):
    """Robots as the scenario has them; see `environment.begin`."""
    forget_episode(state, env)
    for robot in range(num_robots):
        row = robot_row(robot)
        if state[row + IS_ACTIVE, env] > ZERO:
            vx, vy = through_the_water(state, env, row)
            if feels_current:
                x, y = state[row + X, env], state[row + Y, env]
                current_x, current_y = current_at(state, env, x, y)
                vx, vy = vx + current_x, vy + current_y
            state[row + GROUND_VX, env], state[row + GROUND_VY, env] = vx, vy
            perceive(state, env, robot, random)


def through_the_water(state, env, row):
    sine, cosine = sine_and_cosine(state[row + HEADING, env])
    return state[row + SPEED, env] * cosine, state[row + SPEED, env] * sine


def choose(state, env, robot, actions):
    """Take a robot's action."""
    apply(state, env, robot_row(robot), actions[env * num_robots + robot])


def apply(state, env, row, action):
    """One of nine: a third for the acceleration, and one for the turn; each down, none or up."""
    thrust, turn = real(action // 3 - 1), real(action % 3 - 1)
    state[row + ACCELERATION, env] = thrust * MAX_ACCELERATION_M_PER_S2
    state[row + TURN_RATE, env] = turn * MAX_TURN_RATE_RAD_PER_S
    state[row + EFFORT, env] += abs(thrust) + abs(turn)


def drive(state, env, robot):
    """Move a robot for one decision, by what it chose.

    The velocity over ground that others see is that from before the last sub-step. Way and turn are
    added up by themselves, which loses less in float32.
    """
    row = robot_row(robot)
    x, y, heading = state[row + X, env], state[row + Y, env], state[row + HEADING, env]
    speed, way_x, way_y, turn, vx, vy = state[row + SPEED, env], ZERO, ZERO, ZERO, ZERO, ZERO
    for _ in range(NUM_SUBSTEPS):
        current_x, current_y = current_at(state, env, x + way_x, y + way_y)
        sine, cosine = sine_and_cosine(within_a_turn(heading + turn))
        vx, vy = speed * cosine + current_x, speed * sine + current_y
        way_x += vx * STEP_S
        way_y += vy * STEP_S
        speed += (state[row + ACCELERATION, env] - DRAG_PER_S * speed) * STEP_S
        speed = min(max(speed, ZERO), MAX_SPEED_M_PER_S)
        turn += state[row + TURN_RATE, env] * STEP_S
    state[row + X, env], state[row + Y, env] = x + way_x, y + way_y
    state[row + HEADING, env] = within_a_turn(heading + turn)
    state[row + SPEED, env] = speed
    state[row + GROUND_VX, env], state[row + GROUND_VY, env] = vx, vy


def perceive(state, env, robot, random):
    """Tell whether a robot has arrived, or touches an obstacle or a robot that is left."""
    row = robot_row(robot)
    tell_arrival(state, env, row)
    for obstacle in range(num_obstacles):
        if real(obstacle) < state[NUM_OBSTACLES, env]:
            other = obstacle_row(obstacle)
            reach = state[other + OBSTACLE_RADIUS, env] + HULL_RADIUS_M
            if gap(state, env, row, other + OBSTACLE_X, other + OBSTACLE_Y) <= reach:
                state[row + HAS_COLLIDED, env] = ONE
    for second in range(num_robots):
        other, reach = robot_row(second), HULL_RADIUS_M + HULL_RADIUS_M
        is_there = second != robot and state[other + IS_ACTIVE, env] > ZERO
        if is_there and gap(state, env, row, other + X, other + Y) <= reach:
            state[row + HAS_COLLIDED, env] = ONE


def tell_arrival(state, env, row):
    state[row + GOAL_DISTANCE, env] = gap(state, env, row, row + GOAL_X, row + GOAL_Y)
    if state[row + GOAL_DISTANCE, env] <= GOAL_RADIUS_M:
        state[row + HAS_ARRIVED, env] = ONE


def offset(state, env, row, x_row, y_row):
    """From a robot to a point."""
    return state[x_row, env] - state[row + X, env], state[y_row, env] - state[row + Y, env]


def gap(state, env, row, x_row, y_row):
    dx, dy = offset(state, env, row, x_row, y_row)
    return math.sqrt(dx * dx + dy * dy)


def obey_no_rules(state, env, robot):
    """There are none here."""


def observe(state, env, obs):
    """Write the rows of all robots, 39 numbers each: zeros where one has retired, or is not there.

    Goal (x, y) and velocity over ground (surge, sway); five rows of obstacles (x, y, radius) and
    five of robots (x, y, vx, vy), nearest first, with zeros where there are fewer. In the body
    frame.
    """
    for robot in range(num_robots):
        row, place = robot_row(robot), env * num_robots + robot
        for part in range(OBS_SIZE):
            obs[place, part] = ZERO
        if state[row + IS_AWARE, env] > ZERO:
            goal = offset(state, env, row, row + GOAL_X, row + GOAL_Y)
            velocity = state[row + GROUND_VX, env], state[row + GROUND_VY, env]
            turn_into(state, env, row, goal, obs, place, 0)
            turn_into(state, env, row, velocity, obs, place, 2)
            observe_obstacles(state, env, row, obs, place)
            observe_robots(state, env, robot, obs, place)


def observe_obstacles(state, env, row, obs, place):
    last_key, last = -FAR_M, -1
    for slot in range(NUM_SEEN_OBSTACLES):
        best_key, best = FAR_M, -1
        for obstacle in range(num_obstacles):
            if real(obstacle) < state[NUM_OBSTACLES, env]:
                other = obstacle_row(obstacle)
                radius = state[other + OBSTACLE_RADIUS, env]
                distance = gap(state, env, row, other + OBSTACLE_X, other + OBSTACLE_Y)
                key = distance - radius
                is_next = key > last_key or (key == last_key and obstacle > last)
                if distance <= RANGE_M + radius and is_next and key < best_key:
                    best_key, best = key, obstacle
        if best < 0:
            break
        last_key, last = best_key, best
        other, part = obstacle_row(best), OWN_SIZE + slot * SEEN_OBSTACLE_SIZE
        place_seen = offset(state, env, row, other + OBSTACLE_X, other + OBSTACLE_Y)
        turn_into(state, env, row, place_seen, obs, place, part)
        obs[place, part + 2] = state[other + OBSTACLE_RADIUS, env] * obs_scale[part + 2]


def observe_robots(state, env, robot, obs, place):
    row, last_key, last = robot_row(robot), -FAR_M, -1
    for slot in range(NUM_SEEN_ROBOTS):
        best_key, best = FAR_M, -1
        for second in range(num_robots):
            other = robot_row(second)
            if second != robot and state[other + IS_AWARE, env] > ZERO:
                key = gap(state, env, row, other + X, other + Y)
                is_next = key > last_key or (key == last_key and second > last)
                if key <= RANGE_M + SEEN_RADIUS_M and is_next and key < best_key:
                    best_key, best = key, second
        if best < 0:
            break
        last_key, last = best_key, best
        other, part = robot_row(best), FIRST_SEEN_ROBOT + slot * SEEN_ROBOT_SIZE
        place_seen = offset(state, env, row, other + X, other + Y)
        velocity = state[other + GROUND_VX, env], state[other + GROUND_VY, env]
        turn_into(state, env, row, place_seen, obs, place, part)
        turn_into(state, env, row, velocity, obs, place, part + 2)


def turn_into(state, env, row, vector, obs, place, part):
    """Write a vector of the world's frame in that of a robot's body."""
    sine, cosine = sine_and_cosine(state[row + HEADING, env])
    x, y = vector
    obs[place, part] = (cosine * x + sine * y) * obs_scale[part]
    obs[place, part + 1] = (cosine * y - sine * x) * obs_scale[part + 1]
