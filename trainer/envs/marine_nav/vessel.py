"""The dynamics of a vessel: three degrees of freedom, two thrusters that cannot turn.

M v' = -C_RB v - (C_A + D + D_n) v_r + tau, where v is over ground and v_r through the water.
Source: Fossen 2011, Handbook of Marine Craft Hydrodynamics and Motion Control, chapters 6 and 8,
with the constants of the authors' simulator; explicit Euler.
"""

from __future__ import annotations

import math

from ..trigonometry import sine_and_cosine
from .bindings import num_robots, num_vortices, real, thrust_rates
from .constants import CORE_RADIUS_M, HALF, ONE, TURN, ZERO
from .layout import (
    CIRCULATION,
    ENERGY,
    GROUND_VX,
    GROUND_VY,
    HEADING,
    IS_CLOCKWISE,
    LEFT_N,
    NUM_VORTICES,
    RIGHT_N,
    SEEN_YAW_RATE,
    VORTEX_X,
    VORTEX_Y,
    WATER_VX,
    WATER_VY,
    YAW_RATE,
    X,
    Y,
    robot_row,
    vortex_row,
)

# X is surge, Y sway, N yaw; u, v and r the velocities.
MASS_KG = 400.0
ADDED_SURGE_KG = -20.0  # -X_udot: the source has X_udot = +20
SURGE_INERTIA_KG = 380.0  # this and the next two include the added mass of the water
SWAY_INERTIA_KG = 400.0
YAW_INERTIA_KG_M2 = 450.0 + 980.0
SURGE_DRAG, SURGE_DRAG_2 = 100.0, 150.0  # N s/m and N s2/m2
SWAY_DRAG, SWAY_DRAG_2 = 100.0, 150.0
YAW_DRAG, YAW_DRAG_2 = 980.0, 950.0  # N m s and N m s2
THRUSTER_ARM_M = 1.25  # from each thruster to the middle
MIN_THRUST_N, MAX_THRUST_N = -500.0, 1000.0
MAX_THRUST_RATE_N_PER_S = 1000.0

STEP_S = 0.05
NUM_SUBSTEPS = 10
DECISION_S = 0.5

TINY_M = 1e-6  # nearer to the middle of a core the current falls to nothing


def continuous_thrust_rates(actions, row):
    """Two fractions of the largest change, from -1 to 1."""
    left = min(max(real(actions[row, 0]), -ONE), ONE)
    right = min(max(real(actions[row, 1]), -ONE), ONE)
    return left * MAX_THRUST_RATE_N_PER_S, right * MAX_THRUST_RATE_N_PER_S


def discrete_thrust_rates(actions, row):
    """One of 25 pairs: 0, -500, -1000, 500 or 1000 N/s for either thruster."""
    return fifth(actions[row] // 5), fifth(actions[row] % 5)


def fifth(choice):
    slow = HALF * MAX_THRUST_RATE_N_PER_S
    return real(choice if choice < 3 else 2 - choice) * -slow


def apply_thrust(state, env, robot, actions):
    """Change both thrusts by what they would change within a decision."""
    row = robot_row(robot)
    left_rate, right_rate = thrust_rates(actions, env * num_robots + robot)
    left = state[row + LEFT_N, env] + left_rate * DECISION_S
    right = state[row + RIGHT_N, env] + right_rate * DECISION_S
    left = min(max(left, MIN_THRUST_N), MAX_THRUST_N)
    right = min(max(right, MIN_THRUST_N), MAX_THRUST_N)
    state[row + LEFT_N, env], state[row + RIGHT_N, env] = left, right
    state[row + ENERGY, env] += DECISION_S * (abs(left) + abs(right))


def drive(state, env, robot):
    """Move a robot for one decision with its present thrusts.

    The velocity over ground that others see is that from before the last sub-step.
    """
    row = robot_row(robot)
    x, y, heading = state[row + X, env], state[row + Y, env], state[row + HEADING, env]
    wx, wy = state[row + WATER_VX, env], state[row + WATER_VY, env]
    yaw_rate = state[row + YAW_RATE, env]
    left, right = state[row + LEFT_N, env], state[row + RIGHT_N, env]
    vx, vy, seen_yaw_rate = wx, wy, yaw_rate
    for _ in range(NUM_SUBSTEPS):
        current_x, current_y = current_at(state, env, x, y)
        vx, vy, seen_yaw_rate = wx + current_x, wy + current_y, yaw_rate
        x += vx * STEP_S
        y += vy * STEP_S
        heading = within_a_turn(heading + yaw_rate * STEP_S)
        sine, cosine = sine_and_cosine(heading)
        surge, sway = cosine * wx + sine * wy, cosine * wy - sine * wx
        ground_surge, ground_sway = cosine * vx + sine * vy, cosine * vy - sine * vx
        surge_change, sway_change, yaw_change = accelerations(
            surge, sway, yaw_rate, ground_surge, ground_sway, left, right
        )
        surge += surge_change * STEP_S
        sway += sway_change * STEP_S
        yaw_rate += yaw_change * STEP_S
        wx, wy = cosine * surge - sine * sway, sine * surge + cosine * sway
    state[row + X, env], state[row + Y, env], state[row + HEADING, env] = x, y, heading
    state[row + WATER_VX, env], state[row + WATER_VY, env] = wx, wy
    state[row + YAW_RATE, env] = yaw_rate
    state[row + GROUND_VX, env], state[row + GROUND_VY, env] = vx, vy
    state[row + SEEN_YAW_RATE, env] = seen_yaw_rate


def accelerations(surge, sway, yaw_rate, ground_surge, ground_sway, left, right):
    """Accelerations of surge, sway and yaw, in m/s2, m/s2 and rad/s2."""
    surge_drag = (SURGE_DRAG + SURGE_DRAG_2 * abs(surge)) * surge
    sway_drag = (SWAY_DRAG + SWAY_DRAG_2 * abs(sway)) * sway
    yaw_drag = (YAW_DRAG + YAW_DRAG_2 * abs(yaw_rate)) * yaw_rate
    surge_force = MASS_KG * yaw_rate * ground_sway - surge_drag + left + right
    sway_force = -MASS_KG * yaw_rate * ground_surge - ADDED_SURGE_KG * surge * yaw_rate - sway_drag
    torque = ADDED_SURGE_KG * surge * sway - yaw_drag + THRUSTER_ARM_M * (left - right)
    return (
        surge_force / SURGE_INERTIA_KG,
        sway_force / SWAY_INERTIA_KG,
        torque / YAW_INERTIA_KG_M2,
    )


def within_a_turn(angle):
    """The same angle in [0, 2 pi), for an angle at most a turn outside."""
    if angle < ZERO:
        angle += TURN
    return angle - TURN if angle >= TURN else angle


def current_at(state, env, x, y):
    """The current (vx, vy) at a point, in m/s.

    A core turns like a solid body; outside, the speed falls as one over the distance. The direction
    is across that *towards* the core.
    """
    vx, vy = ZERO, ZERO
    for vortex in range(num_vortices):
        if real(vortex) < state[NUM_VORTICES, env]:
            row = vortex_row(vortex)
            dx, dy = state[row + VORTEX_X, env] - x, state[row + VORTEX_Y, env] - y
            distance = math.sqrt(dx * dx + dy * dy)
            speed = vortex_speed(state[row + CIRCULATION, env], distance)
            turned = ONE if state[row + IS_CLOCKWISE, env] > ZERO else -ONE
            share = turned * speed / max(distance, TINY_M)
            vx -= share * dy
            vy += share * dx
    return vx, vy


def vortex_speed(circulation, distance):
    """Speed of the water at a distance from a core."""
    if distance <= CORE_RADIUS_M:
        return circulation * distance / (TURN * CORE_RADIUS_M * CORE_RADIUS_M)
    return circulation / (TURN * distance)
