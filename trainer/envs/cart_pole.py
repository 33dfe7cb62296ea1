"""A pole on a cart, kept upright by pushing the cart left or right.

Source: Barto, Sutton and Anderson 1983; equations and constants as in Gymnasium's CartPole-v1.
"""

from __future__ import annotations

import math

from numpy import float32

from ..jit.streams import uniform
from ..spaces import Discrete, symmetric_box
from .spec import EnvSpec
from .trigonometry import sine_and_cosine

GRAVITY_M_PER_S2 = float32(9.8)
POLE_MASS_KG = float32(0.1)
TOTAL_MASS_KG = float32(1.1)
HALF_POLE_M = float32(0.5)
PUSH_N = float32(10.0)
STEP_S = float32(0.02)
TRACK_HALF_WIDTH_M = float32(2.4)
MAX_ANGLE_RAD = float32(math.radians(12))
RESET_RANGE = float32(0.05)

ONE = float32(1.0)
FOUR_THIRDS = float32(4 / 3)

POSITION_M, VELOCITY_M_PER_S, ANGLE_RAD, ANGULAR_VELOCITY_RAD_PER_S = range(4)


def reset(state, env, random):
    """Start near the middle, near upright and near rest."""
    state[POSITION_M, env] = uniform(random, 0, -RESET_RANGE, RESET_RANGE)
    state[VELOCITY_M_PER_S, env] = uniform(random, 1, -RESET_RANGE, RESET_RANGE)
    state[ANGLE_RAD, env] = uniform(random, 2, -RESET_RANGE, RESET_RANGE)
    state[ANGULAR_VELOCITY_RAD_PER_S, env] = uniform(random, 3, -RESET_RANGE, RESET_RANGE)


def step(state, env, action):
    """Explicit Euler: the old velocities move cart and pole. Returns (reward, terminated)."""
    angle_rad = state[ANGLE_RAD, env]
    velocity_m_per_s = state[VELOCITY_M_PER_S, env]
    angular_velocity = state[ANGULAR_VELOCITY_RAD_PER_S, env]
    force_n = PUSH_N if action == 1 else -PUSH_N
    sine, cosine = sine_and_cosine(angle_rad)

    pole_force_n = POLE_MASS_KG * HALF_POLE_M * angular_velocity * angular_velocity * sine
    push_m_per_s2 = (force_n + pole_force_n) / TOTAL_MASS_KG
    angular_acceleration = (GRAVITY_M_PER_S2 * sine - cosine * push_m_per_s2) / (
        HALF_POLE_M * (FOUR_THIRDS - POLE_MASS_KG * cosine * cosine / TOTAL_MASS_KG)
    )
    acceleration_m_per_s2 = (
        push_m_per_s2 - POLE_MASS_KG * HALF_POLE_M * angular_acceleration * cosine / TOTAL_MASS_KG
    )

    position_m = state[POSITION_M, env] + STEP_S * velocity_m_per_s
    angle_rad += STEP_S * angular_velocity
    state[POSITION_M, env] = position_m
    state[VELOCITY_M_PER_S, env] = velocity_m_per_s + STEP_S * acceleration_m_per_s2
    state[ANGLE_RAD, env] = angle_rad
    state[ANGULAR_VELOCITY_RAD_PER_S, env] = angular_velocity + STEP_S * angular_acceleration
    return ONE, abs(position_m) > TRACK_HALF_WIDTH_M or abs(angle_rad) > MAX_ANGLE_RAD


def observe(state, env, obs):
    """Everything is seen."""
    for field in range(4):
        obs[env, field] = state[field, env]


SPEC = EnvSpec(
    name="CartPole-v1",
    state_size=4,
    obs_size=4,
    actions=Discrete(2),
    max_episode_steps=500,
    observations=symmetric_box(4.8, math.inf, math.radians(24), math.inf),
    reset=reset,
    step=step,
    observe=observe,
)
