"""What a decision is worth to a robot, and whether it is the last."""

from __future__ import annotations

from ..trigonometry import sine_and_cosine
from .bindings import is_compatible, real
from .colregs import evasion_angle
from .constants import (
    COLLISION_REWARD,
    EVASION_REWARD_PER_RAD,
    GOAL_REWARD,
    MAX_DECISIONS,
    STEP_REWARD,
    ZERO,
)
from .layout import (
    DECISION,
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
            state[thing + OBJECT_X, env], state[thing + OBJECT_Y, env],
            state[thing + OBJECT_VX, env], state[thing + OBJECT_VY, env],
            state[thing + OBJECT_RADIUS, env], own_vx, own_vy,
        )  # fmt: skip
        if angle > ZERO:
            state[row + EVASION_RAD, env] = angle
            break


def outcome(state, env, robot, distance_before):
    """(reward, terminated) of a robot that has moved and seen where it is.

    The authors' simulator counts the time limit as an end of the task, which it notices one
    decision late, and before anything else.
    """
    row = robot_row(robot)
    reward = STEP_REWARD + (distance_before - state[row + GOAL_DISTANCE, env])
    reward += EVASION_REWARD_PER_RAD * state[row + EVASION_RAD, env]
    if is_compatible and state[DECISION, env] > real(MAX_DECISIONS):
        return reward, True
    if state[row + HAS_COLLIDED, env] > ZERO:
        return reward + COLLISION_REWARD, True
    if state[row + HAS_ARRIVED, env] > ZERO:
        return reward + GOAL_REWARD, True
    return reward, False
