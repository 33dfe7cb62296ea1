"""What the rows of `state` are: numbers of the world, then lists of blocks, one for each thing.

Of the lists only the first so many are there: `NUM_OBSTACLES` of the obstacles, and so on; robots
that are not there never were `IS_ACTIVE`.
"""

from __future__ import annotations

from .bindings import first_obstacle, first_robot, first_stage, first_vortex
from .constants import SEEN_OBJECTS

# Of the world.
(
    CLOCK,  # decisions in all episodes, up to 2^24
    DECISION,  # of this episode
    NUM_ROBOTS,
    NUM_OBSTACLES,
    NUM_VORTICES,
    MISSING_ROBOTS,  # all that there was no room for since the first episode
    MISSING_OBSTACLES,
    MISSING_VORTICES,
    SHORT_EPISODES,  # that began with fewer objects than asked for
    NUM_STAGES,
    WORLD_SIZE,
) = range(11)

# Of a robot. Velocities are along the world's axes.
(
    X,
    Y,
    HEADING,
    WATER_VX,  # through the water
    WATER_VY,
    YAW_RATE,
    GROUND_VX,  # over ground, when the last sub-step began
    GROUND_VY,
    SEEN_YAW_RATE,  # likewise
    LEFT_N,
    RIGHT_N,
    GOAL_X,
    GOAL_Y,
    GOAL_DISTANCE,
    IS_ACTIVE,  # from now on
    IS_AWARE,  # had an observation of this decision
    HAS_COLLIDED,
    HAS_ARRIVED,
    EVASION_RAD,  # by how much the rules of the road ask to turn; 0 where they do not
    ENERGY,  # N s in this episode
    NUM_SEEN,
    NEARNESS,  # of the objects seen, nearest first: what they are sorted by
) = range(22)
OBJECTS = NEARNESS + SEEN_OBJECTS  # and their rows
OBJECT_SIZE = 5
ROBOT_SIZE = OBJECTS + SEEN_OBJECTS * OBJECT_SIZE

# Of a thing that is seen: where, how fast, how large.
OBJECT_X, OBJECT_Y, OBJECT_VX, OBJECT_VY, OBJECT_RADIUS = range(5)

OBSTACLE_X, OBSTACLE_Y, OBSTACLE_RADIUS, OBSTACLE_SIZE = range(4)
VORTEX_X, VORTEX_Y, IS_CLOCKWISE, CIRCULATION, VORTEX_SIZE = range(5)
MOST_STAGES = 9
MOST_ROBOTS, MOST_OBSTACLES, MOST_VORTICES = 16, 32, 16
UNTIL, STAGE_ROBOTS, STAGE_OBSTACLES, STAGE_VORTICES, MIN_GOAL_DISTANCE, STAGE_SIZE = range(6)
NOISE_SIZE = 5

SELF_SIZE = 7  # of an observation, what a robot knows of itself
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
