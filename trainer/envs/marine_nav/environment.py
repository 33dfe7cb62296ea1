"""MarineNav's episodes: their start, the decisions of all robots, rewards and observations.

A part of the reward is for the rules of the road at sea: a vessel that comes from the other's left,
or meets it head on, has to give way to starboard. Source: COLREGs rules 14 and 15; areas and angles
as in the authors' simulator.

An observation is 37 numbers for each robot: goal (x, y), velocity over ground (surge, sway) and yaw
rate in the body frame, thrusts left and right; five rows of (x, y, vx, vy, radius), nearest first;
a mask that says which rows are objects.
"""

from __future__ import annotations

import math

from ..trigonometry import sine_and_cosine
from .bindings import max_noise_m, num_obstacles, num_robots, obs_scale, perception_noise, real
from .constants import MAX_CLOCK, ONE, PI, RANGE_M, SEEN_OBJECTS, TURN, ZERO
from .layout import (
    CLOCK,
    DECISION,
    ENERGY,
    EVASION_RAD,
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
    MASK,
    NEARNESS,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_SEEN,
    OBJECT_RADIUS,
    OBJECT_SIZE,
    OBJECT_VX,
    OBJECT_VY,
    OBJECT_X,
    OBJECT_Y,
    OBJECTS,
    OBS_SIZE,
    OBSTACLE_RADIUS,
    OBSTACLE_X,
    OBSTACLE_Y,
    RIGHT_N,
    SEEN_YAW_RATE,
    SELF_SIZE,
    WATER_VX,
    WATER_VY,
    YAW_RATE,
    X,
    Y,
    obstacle_row,
    robot_row,
)
from .scenarios import generate
from .vessel import apply_thrust, current_at, drive

HULL_RADIUS_M = 0.5 * math.hypot(5.0, 2.5)  # half the diagonal of 5 m x 2.5 m

# The rules of the road.
MIN_SPEED_M_PER_S = 0.5
CROSSING_MIN_X_M, CROSSING_MAX_X_M = -9.0, 12.0
CROSSING_MIN_Y_M, CORNER_Y_M = -17.0, -7.0
CORNER_SLOPE = -7.0 / 12.0
HEAD_ON_MAX_X_M, HEAD_ON_MAX_Y_M = 17.0, 4.5
PASSING_GAP_M = 1.0

# Rewards.
GOAL_RADIUS_M = 2.0
STEP_REWARD, COLLISION_REWARD, GOAL_REWARD = -0.1, -5.0, 10.0
EVASION_REWARD_PER_RAD = -0.1


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
    """Clear the results of the episode before; all robots of the scenario take part."""
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
        # Only now, because the others had to see them.
        row = robot_row(robot)
        if state[row + IS_AWARE, env] > ZERO and terminated[env * num_robots + robot]:
            state[row + IS_ACTIVE, env] = ZERO
    return num_left == 0


def evasion_angle(x, y, vx, vy, radius, own_vx, own_vy):
    """The turn that the rules demand, in radians; 0 where they demand none.

    The other is at (x, y) with velocity (vx, vy) over ground; all in the robot's body frame.
    """
    speed_2, own_speed_2 = vx * vx + vy * vy, own_vx * own_vx + own_vy * own_vy
    least = MIN_SPEED_M_PER_S * MIN_SPEED_M_PER_S
    if speed_2 < least or own_speed_2 < least:
        return ZERO
    # The robot's position and velocity in the other's frame, whose x axis is its course.
    speed = math.sqrt(speed_2)
    cosine, sine = vx / speed, vy / speed
    there_x, there_y = -(cosine * x + sine * y), sine * x - cosine * y
    along, across = cosine * own_vx + sine * own_vy, cosine * own_vy - sine * own_vx
    if is_crossing(there_x, there_y, along, across) or is_head_on(there_x, there_y, along, across):
        return max(angle_to_pass(x, y, radius, own_vx, own_vy), ZERO)
    return ZERO


def is_crossing(x, y, along, across):
    """Whether the robot comes from the other's left, on a course within 45 degrees of across."""
    is_there = CROSSING_MIN_X_M <= x <= CROSSING_MAX_X_M and CROSSING_MIN_Y_M <= y <= ZERO
    is_in_the_corner = y - CORNER_Y_M > CORNER_SLOPE * (x - CROSSING_MAX_X_M)
    return is_there and not is_in_the_corner and across > ZERO and abs(along) <= across


def is_head_on(x, y, along, across):
    """Whether the robot is ahead of the other, on a course within 45 degrees of the opposite."""
    is_there = ZERO <= x <= HEAD_ON_MAX_X_M and abs(y) <= HEAD_ON_MAX_Y_M
    return is_there and along < ZERO and abs(across) < -along


def angle_to_pass(x, y, radius, own_vx, own_vy):
    """The angle to a course that leaves the other to port; 0 inside the other's circle."""
    distance_2, gap = x * x + y * y, radius + PASSING_GAP_M
    if distance_2 < gap * gap:
        return ZERO
    tangent = math.sqrt(distance_2 - gap * gap)
    desired = math.atan2(y, x) + math.atan2(gap, tangent) + math.atan2(HULL_RADIUS_M, tangent)
    return within_half_a_turn(within_half_a_turn(desired) - math.atan2(own_vy, own_vx))


def within_half_a_turn(angle):
    """The same angle in [-pi, pi), for an angle at most a turn outside."""
    if angle >= PI:
        return angle - TURN
    return angle + TURN if angle < -PI else angle


def obey_the_rules(state, env, robot):
    """Write the turn that the rules of the road demand for the nearest object that needs one."""
    row = robot_row(robot)
    sine, cosine = sine_and_cosine(state[row + HEADING, env])
    vx, vy = state[row + GROUND_VX, env], state[row + GROUND_VY, env]
    own_vx, own_vy = cosine * vx + sine * vy, cosine * vy - sine * vx
    state[row + EVASION_RAD, env] = ZERO
    for slot in range(int(state[row + NUM_SEEN, env])):
        thing = row + OBJECTS + slot * OBJECT_SIZE
        angle = evasion_angle(
            state[thing + OBJECT_X, env],
            state[thing + OBJECT_Y, env],
            state[thing + OBJECT_VX, env],
            state[thing + OBJECT_VY, env],
            state[thing + OBJECT_RADIUS, env],
            own_vx,
            own_vy,
        )
        if angle > ZERO:
            state[row + EVASION_RAD, env] = angle
            break


def outcome(state, env, robot, distance_before):
    """(reward, terminated) of a robot that has moved and seen where it is."""
    row = robot_row(robot)
    reward = STEP_REWARD + (distance_before - state[row + GOAL_DISTANCE, env])
    reward += EVASION_REWARD_PER_RAD * state[row + EVASION_RAD, env]
    if state[row + HAS_COLLIDED, env] > ZERO:
        return reward + COLLISION_REWARD, True
    if state[row + HAS_ARRIVED, env] > ZERO:
        return reward + GOAL_REWARD, True
    return reward, False


def perceive(state, env, robot, random):
    """List the objects that a robot sees, nearest first; write whether it arrived or collided.

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
    """Add an object (x, y, vx, vy, radius) to the list of visible objects if it is in range."""
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
    """Insert an object into the sorted list of at most SEEN_OBJECTS; ties keep their order."""
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
    """Rotate the visible objects into the robot's body frame."""
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


def observe(state, env, obs):
    """Write the rows of all robots: zeros for those that have retired or do not exist."""
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
