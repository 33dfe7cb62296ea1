"""A pendulum is swung up and held upright by a motor too weak to lift it at once.

Source: equations and constants as in Gymnasium's Pendulum-v1. The angle is 0 upright and kept
within a half turn of it.
"""

from __future__ import annotations

import math

from numpy import float32

from ..jit.streams import uniform
from ..spaces import Box, symmetric_box
from .spec import EnvSpec
from .trigonometry import sine_and_cosine, wrapped

GRAVITY_M_PER_S2 = float32(10.0)
MASS_KG = float32(1.0)
LENGTH_M = float32(1.0)
MAX_TORQUE_N_M = float32(2.0)
MAX_VELOCITY_RAD_PER_S = float32(8.0)
STEP_S = float32(0.05)
RESET_ANGLE_RAD = float32(math.pi)
RESET_VELOCITY_RAD_PER_S = float32(1.0)
VELOCITY_COST, TORQUE_COST = float32(0.1), float32(0.001)

HALF, THREE = float32(0.5), float32(3.0)

ANGLE_RAD, VELOCITY_RAD_PER_S = range(2)


def reset(state, env, random):
    """Start at any angle, turning slowly."""
    velocity = RESET_VELOCITY_RAD_PER_S
    state[ANGLE_RAD, env] = uniform(random, 0, -RESET_ANGLE_RAD, RESET_ANGLE_RAD)
    state[VELOCITY_RAD_PER_S, env] = uniform(random, 1, -velocity, velocity)


def step(state, env, action):
    """Semi-implicit Euler; the cost is of the state before. Returns (reward, terminated)."""
    angle_rad, velocity = state[ANGLE_RAD, env], state[VELOCITY_RAD_PER_S, env]
    torque_n_m = min(max(action[0], -MAX_TORQUE_N_M), MAX_TORQUE_N_M)
    cost = (
        angle_rad * angle_rad
        + VELOCITY_COST * velocity * velocity
        + TORQUE_COST * torque_n_m * torque_n_m
    )
    sine, _ = sine_and_cosine(angle_rad)
    velocity += (
        STEP_S
        * THREE
        * (HALF * GRAVITY_M_PER_S2 / LENGTH_M * sine + torque_n_m / (MASS_KG * LENGTH_M * LENGTH_M))
    )
    velocity = min(max(velocity, -MAX_VELOCITY_RAD_PER_S), MAX_VELOCITY_RAD_PER_S)
    state[ANGLE_RAD, env] = wrapped(angle_rad + STEP_S * velocity)
    state[VELOCITY_RAD_PER_S, env] = velocity
    return -cost, False


def observe(state, env, obs):
    """Cosine and sine of the angle, and the velocity."""
    sine, cosine = sine_and_cosine(state[ANGLE_RAD, env])
    obs[env, 0], obs[env, 1] = cosine, sine
    obs[env, 2] = state[VELOCITY_RAD_PER_S, env]


SPEC = EnvSpec(
    name="Pendulum-v1",
    state_size=2,
    obs_size=3,
    actions=Box((-2.0,), (2.0,)),
    max_episode_steps=200,
    reset=reset,
    step=step,
    observe=observe,
    observations=symmetric_box(1.0, 1.0, 8.0),
)
