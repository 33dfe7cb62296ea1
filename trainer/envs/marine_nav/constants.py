"""The numbers of MarineNav with three degrees of freedom, in SI units.

Those that are real reach compiled code in the precision of its world: `world.py` binds each name to
the same number as float32 or float64. So functions that are compiled name their numbers, ONE and
HALF too: a bare 0.5 would make all that it touches float64.
Source: Lin et al. 2024, arXiv:2412.09466, and its public simulator; the vessel is a WAM-V 16.
"""

from __future__ import annotations

import math

ZERO, HALF, ONE, TWO = 0.0, 0.5, 1.0, 2.0
PI, TURN = math.pi, 2 * math.pi

# The vessel: X is surge, Y sway, N yaw; u, v and r the velocities.
HULL_RADIUS_M = 0.5 * math.hypot(5.0, 2.5)  # half the diagonal of 5 m x 2.5 m
MASS_KG = 400.0
ADDED_SURGE_KG = -20.0  # -X_udot: the source has X_udot = +20
SURGE_INERTIA_KG = 380.0  # with what the water adds, as the next two
SWAY_INERTIA_KG = 400.0
YAW_INERTIA_KG_M2 = 450.0 + 980.0
SURGE_DRAG, SURGE_DRAG_2 = 100.0, 150.0  # N s/m and N s2/m2
SWAY_DRAG, SWAY_DRAG_2 = 100.0, 150.0
YAW_DRAG, YAW_DRAG_2 = 980.0, 950.0  # N m s and N m s2
THRUSTER_ARM_M = 1.25  # of each thruster to the middle
MIN_THRUST_N, MAX_THRUST_N = -500.0, 1000.0
MAX_THRUST_RATE_N_PER_S = 1000.0

STEP_S = 0.05
NUM_SUBSTEPS = 10
DECISION_S = 0.5

# Currents: Rankine vortices.
CORE_RADIUS_M = 0.5
MIN_EDGE_SPEED_M_PER_S, MAX_EDGE_SPEED_M_PER_S = 3.0, 3.0
TINY_M = 1e-6  # nearer to the middle of a core the current falls to nothing

# Sensing.
RANGE_M = 20.0
SEEN_OBJECTS = 5
NOISE_DEVIATION = 0.05  # of positions in m, and of velocities in m/s
NOISE_REACH_M = 0.5  # more than the noise drawn can shift anything
SURE_RADIUS, UNSURE_RADIUS = 0.8, 0.2  # of an object's radius, as it is seen

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

# Scenarios.
MAP_M = 55.0
GOAL_MARGIN_M, OBSTACLE_MARGIN_M = 2.0, 5.0  # how far from the map's border
VESSEL_GAP_M = 10.0  # between starts, between goals, and from these to obstacles and cores
MIN_OBSTACLE_RADIUS_M, MAX_OBSTACLE_RADIUS_M = 1.0, 1.0
CORE_GAP_M = 1.0
OPPOSITE_CORE_FRACTION = 0.8
NUM_PROPOSALS = 500  # of each kind of object
MAX_DECISIONS = 1000
MAX_CLOCK = 2.0**24  # the most that float32 counts to

# Random numbers.
UNIT = 2.0**-24  # 24 bits are what float32 holds
NODES = 1024.0  # pieces of the quantile function of the noise of radii
