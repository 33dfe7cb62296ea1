"""The rows of `state`: numbers of the world, then lists of blocks, one block for each object.

A list has room for the most objects; an episode uses the first `NUM_OBSTACLES` of the obstacles,
and so on. Unused robots are never `IS_ACTIVE`.
"""

from __future__ import annotations

from .bindings import first_obstacle, first_robot, first_stage, first_vortex
from .constants import SEEN_OBJECTS

# The world.
(
    CLOCK,  # decisions in all episodes, up to 2^24
    DECISION,  # of this episode
    NUM_ROBOTS,
    NUM_OBSTACLES,
    NUM_VORTICES,
    MISSING_ROBOTS,  # objects that did not fit, over all episodes
    MISSING_OBSTACLES,
    MISSING_VORTICES,
    SHORT_EPISODES,  # episodes that began with fewer objects than asked for
    NUM_STAGES,
    WORLD_SIZE,
) = range(11)

# A robot. Velocities are along the world's axes.
(
    X,
    Y,
    HEADING,
    WATER_VX,  # through the water
    WATER_VY,
    YAW_RATE,
    GROUND_VX,  # over ground, when the last sub-step began
    GROUND_VY,
    SEEN_YAW_RATE,  # when the last sub-step began
    LEFT_N,
    RIGHT_N,
    GOAL_X,
    GOAL_Y,
    GOAL_DISTANCE,
    IS_ACTIVE,  # moves in the next decision
    IS_AWARE,  # had an observation of this decision
    HAS_COLLIDED,
    HAS_ARRIVED,
    EVASION_RAD,  # the turn that the rules of the road demand, else 0
    ENERGY,  # N s in this episode
    NUM_SEEN,
    NEARNESS,  # distances by which the visible objects are sorted, nearest first
) = range(22)
OBJECTS = NEARNESS + SEEN_OBJECTS  # the visible objects
OBJECT_SIZE = 5
ROBOT_SIZE = OBJECTS + SEEN_OBJECTS * OBJECT_SIZE

# A visible object: position, velocity and radius.
OBJECT_X, OBJECT_Y, OBJECT_VX, OBJECT_VY, OBJECT_RADIUS = range(5)

OBSTACLE_X, OBSTACLE_Y, OBSTACLE_RADIUS, OBSTACLE_SIZE = range(4)
VORTEX_X, VORTEX_Y, IS_CLOCKWISE, CIRCULATION, VORTEX_SIZE = range(5)
MOST_STAGES = 9
MOST_ROBOTS, MOST_OBSTACLES, MOST_VORTICES = 16, 32, 16
UNTIL, STAGE_ROBOTS, STAGE_OBSTACLES, STAGE_VORTICES, MIN_GOAL_DISTANCE, STAGE_SIZE = range(6)
NOISE_SIZE = 5

SELF_SIZE = 7  # numbers of an observation about the robot itself
MASK = SELF_SIZE + SEEN_OBJECTS * OBJECT_SIZE  # where the mask begins
OBS_SIZE = MASK + SEEN_OBJECTS


def robot_row(robot):
    return first_robot + robot * ROBOT_SIZE


def obstacle_row(obstacle):
    return first_obstacle + obstacle * OBSTACLE_SIZE


def vortex_row(vortex):
    return first_vortex + vortex * VORTEX_SIZE


def stage_row(stage):
    return first_stage + stage * STAGE_SIZE
