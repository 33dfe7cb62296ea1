"""What a robot sees of obstacles and of other robots, and whether it hits any."""

from __future__ import annotations

import math

from ..trigonometry import sine_and_cosine
from .bindings import max_noise_m, num_obstacles, num_robots, perception_noise, real
from .constants import GOAL_RADIUS_M, HULL_RADIUS_M, ONE, RANGE_M, SEEN_OBJECTS, ZERO
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
    NEARNESS,
    NUM_OBSTACLES,
    NUM_SEEN,
    OBJECT_RADIUS,
    OBJECT_SIZE,
    OBJECT_VX,
    OBJECT_VY,
    OBJECT_X,
    OBJECT_Y,
    OBJECTS,
    OBSTACLE_RADIUS,
    OBSTACLE_X,
    OBSTACLE_Y,
    X,
    Y,
    obstacle_row,
    robot_row,
)


def perceive(state, env, robot, random):
    """List the objects that a robot sees, nearest first, and tell whether it arrived or collided.

    Obstacles are candidates 0 to O - 1, and all robots, also itself, those from O on.
    """
    row = robot_row(robot)
    dx, dy = (
        state[row + GOAL_X, env] - state[row + X, env],
        state[row + GOAL_Y, env] - state[row + Y, env],
    )
    state[row + GOAL_DISTANCE, env] = math.sqrt(dx * dx + dy * dy)
    if state[row + GOAL_DISTANCE, env] <= GOAL_RADIUS_M:
        state[row + HAS_ARRIVED, env] = ONE
    state[row + NUM_SEEN, env] = ZERO
    for obstacle in range(num_obstacles):
        if real(obstacle) < state[NUM_OBSTACLES, env]:
            other = obstacle_row(obstacle)
            x, y = state[other + OBSTACLE_X, env], state[other + OBSTACLE_Y, env]
            radius = state[other + OBSTACLE_RADIUS, env]
            look_at(state, env, robot, obstacle, random, (x, y, ZERO, ZERO, radius))
    for second in range(num_robots):
        other = robot_row(second)
        if second != robot and state[other + IS_ACTIVE, env] > ZERO:
            x, y = state[other + X, env], state[other + Y, env]
            vx, vy = state[other + GROUND_VX, env], state[other + GROUND_VY, env]
            thing = (x, y, vx, vy, HULL_RADIUS_M)
            look_at(state, env, robot, num_obstacles + second, random, thing)
    turn_objects(state, env, robot)


def look_at(state, env, robot, candidate, random, thing):
    """Put an object (x, y, vx, vy, radius) among those seen if it is in range and near enough."""
    x, y, vx, vy, radius = thing
    row = robot_row(robot)
    dx, dy = x - state[row + X, env], y - state[row + Y, env]
    true_distance_2, reach = dx * dx + dy * dy, RANGE_M + radius + max_noise_m
    if true_distance_2 > reach * reach:
        return
    noise_x, noise_y, noise_vx, noise_vy, factor = perception_noise(
        state, env, robot, candidate, random
    )
    seen_radius = radius * factor
    seen_x, seen_y = dx + noise_x, dy + noise_y
    distance = math.sqrt(seen_x * seen_x + seen_y * seen_y)
    if distance > RANGE_M + seen_radius:
        return
    if math.sqrt(true_distance_2) - radius - HULL_RADIUS_M <= ZERO:
        state[row + HAS_COLLIDED, env] = ONE
    seen = (seen_x, seen_y, vx + noise_vx, vy + noise_vy, seen_radius)
    insert(state, env, robot, distance - seen_radius - HULL_RADIUS_M, seen)


def insert(state, env, robot, nearness, thing):
    """Keep the list of objects sorted, and as short as it may be; of equals the first is first."""
    row = robot_row(robot)
    count = int(state[row + NUM_SEEN, env])
    place = count
    while place > 0 and state[row + NEARNESS + place - 1, env] > nearness:
        place -= 1
    if place == SEEN_OBJECTS:
        return
    last = min(count, SEEN_OBJECTS - 1)
    for slot in range(last, place, -1):
        state[row + NEARNESS + slot, env] = state[row + NEARNESS + slot - 1, env]
        to = row + OBJECTS + slot * OBJECT_SIZE
        for part in range(OBJECT_SIZE):
            state[to + part, env] = state[to + part - OBJECT_SIZE, env]
    state[row + NEARNESS + place, env] = nearness
    to = row + OBJECTS + place * OBJECT_SIZE
    state[to + OBJECT_X, env], state[to + OBJECT_Y, env] = thing[0], thing[1]
    state[to + OBJECT_VX, env], state[to + OBJECT_VY, env] = thing[2], thing[3]
    state[to + OBJECT_RADIUS, env] = thing[4]
    state[row + NUM_SEEN, env] = real(last + 1)


def turn_objects(state, env, robot):
    """Rotate all that is seen into the robot's body frame."""
    row = robot_row(robot)
    sine, cosine = sine_and_cosine(state[row + HEADING, env])
    for slot in range(int(state[row + NUM_SEEN, env])):
        thing = row + OBJECTS + slot * OBJECT_SIZE
        x, y = state[thing + OBJECT_X, env], state[thing + OBJECT_Y, env]
        vx, vy = state[thing + OBJECT_VX, env], state[thing + OBJECT_VY, env]
        state[thing + OBJECT_X, env] = cosine * x + sine * y
        state[thing + OBJECT_Y, env] = cosine * y - sine * x
        state[thing + OBJECT_VX, env] = cosine * vx + sine * vy
        state[thing + OBJECT_VY, env] = cosine * vy - sine * vx
