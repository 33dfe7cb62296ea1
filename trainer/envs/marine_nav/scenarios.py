"""Random scenarios by rejection: NUM_PROPOSALS for each kind of object, until enough are accepted.

A proposal is a block of the episode's counters, so that a scenario depends on the seed, the
environment's number and its episode alone, and the host takes no part.
"""

from __future__ import annotations

import math

from ...jit.streams import four_words
from .bindings import num_robots, num_vortices, real
from .constants import CORE_RADIUS_M, MAP_M, ONE, TURN, ZERO
from .layout import (
    CIRCULATION,
    CLOCK,
    GOAL_X,
    GOAL_Y,
    HEADING,
    IS_CLOCKWISE,
    MIN_GOAL_DISTANCE,
    MISSING_OBSTACLES,
    MISSING_ROBOTS,
    MISSING_VORTICES,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_STAGES,
    NUM_VORTICES,
    OBSTACLE_RADIUS,
    OBSTACLE_X,
    OBSTACLE_Y,
    SHORT_EPISODES,
    STAGE_OBSTACLES,
    STAGE_ROBOTS,
    STAGE_VORTICES,
    UNTIL,
    VORTEX_X,
    VORTEX_Y,
    X,
    Y,
    obstacle_row,
    robot_row,
    stage_row,
    vortex_row,
)
from .noise import fraction

GOAL_MARGIN_M, OBSTACLE_MARGIN_M = 2.0, 5.0  # distance from the map's border
VESSEL_GAP_M = 10.0  # between starts, between goals, and from these to obstacles and cores
MIN_OBSTACLE_RADIUS_M, MAX_OBSTACLE_RADIUS_M = 1.0, 1.0
MIN_EDGE_SPEED_M_PER_S, MAX_EDGE_SPEED_M_PER_S = 3.0, 3.0
CORE_GAP_M = 1.0
OPPOSITE_CORE_FRACTION = 0.8
NUM_PROPOSALS = 500  # for robots, for vortices and for obstacles

# Blocks of the episode's counters.
ROBOT_BLOCK, HEADING_BLOCK, VORTEX_BLOCK, OBSTACLE_BLOCK = 0, 1024, 2048, 3072


def stage_now(state, env):
    """The first stage that is not over; the last one never ends."""
    stage = 0
    last = int(state[NUM_STAGES, env]) - 1
    while stage < last and state[CLOCK, env] >= state[stage_row(stage) + UNTIL, env]:
        stage += 1
    return stage


def generate(state, env, random):
    """Write a scenario of the curriculum's stage into the state; count objects that do not fit."""
    stage = stage_row(stage_now(state, env))
    robots = place_robots(
        state,
        env,
        random,
        int(state[stage + STAGE_ROBOTS, env]),
        state[stage + MIN_GOAL_DISTANCE, env],
    )
    state[NUM_ROBOTS, env] = real(robots)
    vortices = place_vortices(state, env, random, int(state[stage + STAGE_VORTICES, env]))
    state[NUM_VORTICES, env] = real(vortices)
    obstacles = place_obstacles(state, env, random, int(state[stage + STAGE_OBSTACLES, env]))
    state[NUM_OBSTACLES, env] = real(obstacles)

    missing_robots = state[stage + STAGE_ROBOTS, env] - real(robots)
    missing_vortices = state[stage + STAGE_VORTICES, env] - real(vortices)
    missing_obstacles = state[stage + STAGE_OBSTACLES, env] - real(obstacles)
    state[MISSING_ROBOTS, env] += missing_robots
    state[MISSING_VORTICES, env] += missing_vortices
    state[MISSING_OBSTACLES, env] += missing_obstacles
    if missing_robots + missing_vortices + missing_obstacles > ZERO:
        state[SHORT_EPISODES, env] += ONE


def place_robots(state, env, random, wanted, min_goal_distance):
    """Place starts and goals far enough from each other and from those of other robots; returns the
    number of robots.
    """
    count, proposal = 0, 0
    while count < wanted and proposal < NUM_PROPOSALS:
        word_0, word_1, word_2, word_3 = four_words(random, ROBOT_BLOCK + proposal)
        proposal += 1
        x, y = on_the_map(word_0, GOAL_MARGIN_M), on_the_map(word_1, GOAL_MARGIN_M)
        goal_x, goal_y = on_the_map(word_2, GOAL_MARGIN_M), on_the_map(word_3, GOAL_MARGIN_M)
        if distance(x, y, goal_x, goal_y) < min_goal_distance:
            continue
        is_free = True
        for other in range(count):
            row = robot_row(other)
            gap = distance(x, y, state[row + X, env], state[row + Y, env])
            goal_gap = distance(goal_x, goal_y, state[row + GOAL_X, env], state[row + GOAL_Y, env])
            is_free = is_free and gap > VESSEL_GAP_M and goal_gap > VESSEL_GAP_M
        if is_free:
            row = robot_row(count)
            state[row + X, env], state[row + Y, env] = x, y
            state[row + GOAL_X, env], state[row + GOAL_Y, env] = goal_x, goal_y
            word_0, _, _, _ = four_words(random, HEADING_BLOCK + count)
            state[row + HEADING, env] = TURN * fraction(word_0)
            count += 1
    return count


def place_vortices(state, env, random, wanted):
    """Place vortices away from starts, goals and each other; returns their number."""
    count, proposal = 0, 0
    while count < wanted and proposal < NUM_PROPOSALS:
        word_0, word_1, word_2, word_3 = four_words(random, VORTEX_BLOCK + proposal)
        proposal += 1
        x, y = MAP_M * fraction(word_0), MAP_M * fraction(word_1)
        is_clockwise = ONE if fraction(word_2) * (ONE + ONE) < ONE else ZERO
        speeds = MAX_EDGE_SPEED_M_PER_S - MIN_EDGE_SPEED_M_PER_S
        circulation = TURN * CORE_RADIUS_M * (MIN_EDGE_SPEED_M_PER_S + speeds * fraction(word_3))
        is_free = is_on_the_map(x, y, CORE_RADIUS_M) and is_clear_of_vessels(
            state, env, x, y, CORE_RADIUS_M
        )
        for other in range(count):
            row = vortex_row(other)
            gap = distance(x, y, state[row + VORTEX_X, env], state[row + VORTEX_Y, env])
            turns_alike = is_clockwise == state[row + IS_CLOCKWISE, env]
            is_free = is_free and may_be_neighbours(
                circulation, state[row + CIRCULATION, env], turns_alike, gap
            )
        if is_free:
            row = vortex_row(count)
            state[row + VORTEX_X, env], state[row + VORTEX_Y, env] = x, y
            state[row + IS_CLOCKWISE, env] = is_clockwise
            state[row + CIRCULATION, env] = circulation
            count += 1
    return count


def may_be_neighbours(first, second, turns_alike, gap):
    """Whether two vortices are far enough apart."""
    if turns_alike:
        return gap >= (first + second) / (TURN * CORE_GAP_M)
    if gap <= CORE_GAP_M:
        return False
    at_the_other = max(first, second) / (TURN * (gap - CORE_GAP_M))
    return at_the_other <= OPPOSITE_CORE_FRACTION * min(first, second) / (TURN * CORE_RADIUS_M)


def place_obstacles(state, env, random, wanted):
    """Place obstacles away from starts, goals and vortices; returns their number."""
    count, proposal = 0, 0
    while count < wanted and proposal < NUM_PROPOSALS:
        word_0, word_1, word_2, _ = four_words(random, OBSTACLE_BLOCK + proposal)
        proposal += 1
        x, y = on_the_map(word_0, OBSTACLE_MARGIN_M), on_the_map(word_1, OBSTACLE_MARGIN_M)
        radii = MAX_OBSTACLE_RADIUS_M - MIN_OBSTACLE_RADIUS_M
        radius = MIN_OBSTACLE_RADIUS_M + radii * fraction(word_2)
        is_free = is_on_the_map(x, y, radius) and is_clear_of_vessels(state, env, x, y, radius)
        for vortex in range(num_vortices):
            if real(vortex) < state[NUM_VORTICES, env]:
                row = vortex_row(vortex)
                gap = distance(x, y, state[row + VORTEX_X, env], state[row + VORTEX_Y, env])
                is_free = is_free and gap > CORE_RADIUS_M + radius
        for other in range(count):
            row = obstacle_row(other)
            gap = distance(x, y, state[row + OBSTACLE_X, env], state[row + OBSTACLE_Y, env])
            is_free = is_free and gap > radius + state[row + OBSTACLE_RADIUS, env]
        if is_free:
            row = obstacle_row(count)
            state[row + OBSTACLE_X, env], state[row + OBSTACLE_Y, env] = x, y
            state[row + OBSTACLE_RADIUS, env] = radius
            count += 1
    return count


def is_clear_of_vessels(state, env, x, y, radius):
    """Whether a disc is far enough from all starts and goals."""
    is_free = True
    for robot in range(num_robots):
        if real(robot) < state[NUM_ROBOTS, env]:
            row = robot_row(robot)
            start_gap = distance(x, y, state[row + X, env], state[row + Y, env])
            goal_gap = distance(x, y, state[row + GOAL_X, env], state[row + GOAL_Y, env])
            is_free = is_free and min(start_gap, goal_gap) >= radius + VESSEL_GAP_M
    return is_free


def is_on_the_map(x, y, radius):
    return min(x, y) >= radius and max(x, y) <= MAP_M - radius


def on_the_map(word, margin):
    """A coordinate at least `margin` from the map's border."""
    return margin + (MAP_M - margin - margin) * fraction(word)


def distance(x, y, other_x, other_y):
    dx, dy = other_x - x, other_y - y
    return math.sqrt(dx * dx + dy * dy)
