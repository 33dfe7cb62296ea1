"""The reward of a robot's decision, and whether the episode ends with it.

A part of the reward is for the rules of the road at sea: a vessel that comes from the other's left,
or meets it head on, has to give way to starboard. Source: COLREGs rules 14 and 15; areas and angles
as in the authors' simulator.
"""

from __future__ import annotations

import math

from ..trigonometry import sine_and_cosine
from .constants import (
    COLLISION_REWARD,
    CORNER_SLOPE,
    CORNER_Y_M,
    CROSSING_MAX_X_M,
    CROSSING_MIN_X_M,
    CROSSING_MIN_Y_M,
    EVASION_REWARD_PER_RAD,
    GOAL_REWARD,
    HEAD_ON_MAX_X_M,
    HEAD_ON_MAX_Y_M,
    HULL_RADIUS_M,
    MIN_SPEED_M_PER_S,
    PASSING_GAP_M,
    PI,
    STEP_REWARD,
    TURN,
    ZERO,
)
from .layout import (
    EVASION_RAD,
    GOAL_DISTANCE,
    GROUND_VX,
    GROUND_VY,
    HAS_ARRIVED,
    HAS_COLLIDED,
    HEADING,
    NUM_SEEN,
    OBJECT_RADIUS,
    OBJECT_SIZE,
    OBJECT_VX,
    OBJECT_VY,
    OBJECT_X,
    OBJECT_Y,
    OBJECTS,
    robot_row,
)


def evasion_angle(x, y, vx, vy, radius, own_vx, own_vy):
    """By how much to turn, in radians; 0 where the rules ask for nothing.

    The other is at (x, y) with velocity (vx, vy) over ground; all in the frame of one's own body.
    """
    speed_2, own_speed_2 = vx * vx + vy * vy, own_vx * own_vx + own_vy * own_vy
    least = MIN_SPEED_M_PER_S * MIN_SPEED_M_PER_S
    if speed_2 < least or own_speed_2 < least:
        return ZERO
    # In the other's frame, whose x axis is its course: where one is, and one's velocity there.
    speed = math.sqrt(speed_2)
    cosine, sine = vx / speed, vy / speed
    there_x, there_y = -(cosine * x + sine * y), sine * x - cosine * y
    along, across = cosine * own_vx + sine * own_vy, cosine * own_vy - sine * own_vx
    if is_crossing(there_x, there_y, along, across) or is_head_on(there_x, there_y, along, across):
        return max(angle_to_pass(x, y, radius, own_vx, own_vy), ZERO)
    return ZERO


def is_crossing(x, y, along, across):
    """Whether one comes from the left of the other, on a course within 45 degrees of across."""
    is_there = CROSSING_MIN_X_M <= x <= CROSSING_MAX_X_M and CROSSING_MIN_Y_M <= y <= ZERO
    is_in_the_corner = y - CORNER_Y_M > CORNER_SLOPE * (x - CROSSING_MAX_X_M)
    return is_there and not is_in_the_corner and across > ZERO and abs(along) <= across


def is_head_on(x, y, along, across):
    """Whether one is ahead of the other, on a course within 45 degrees of its own reversed."""
    is_there = ZERO <= x <= HEAD_ON_MAX_X_M and abs(y) <= HEAD_ON_MAX_Y_M
    return is_there and along < ZERO and abs(across) < -along


def angle_to_pass(x, y, radius, own_vx, own_vy):
    """From one's course to one that leaves the other to port; 0 where one is inside its circle."""
    distance_2, gap = x * x + y * y, radius + PASSING_GAP_M
    if distance_2 < gap * gap:
        return ZERO
    tangent = math.sqrt(distance_2 - gap * gap)
    desired = math.atan2(y, x) + math.atan2(gap, tangent) + math.atan2(HULL_RADIUS_M, tangent)
    return within_half_a_turn(within_half_a_turn(desired) - math.atan2(own_vy, own_vx))


def within_half_a_turn(angle):
    """The same angle in [-pi, pi), of one at most a turn outside."""
    if angle >= PI:
        return angle - TURN
    return angle + TURN if angle < -PI else angle


def obey_the_rules(state, env, robot):
    """Find the nearest object seen for which the rules of the road ask to turn, and by how much."""
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
