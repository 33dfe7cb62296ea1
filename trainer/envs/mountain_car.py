"""A car in a valley, too weak to drive straight up, reaches the flag by swinging.

Source: Moore 1990; equations and constants as in Gymnasium's MountainCar-v0. Lengths and velocities
are in the units of that valley, velocities per env step.
"""

from __future__ import annotations

from numpy import float32

from ..jit.streams import uniform
from ..spaces import Box, Discrete
from .spec import EnvSpec
from .trigonometry import sine_and_cosine

PUSH = float32(0.001)
GRAVITY = float32(0.0025)
MIN_POSITION = float32(-1.2)
MAX_POSITION = float32(0.6)
MAX_VELOCITY = float32(0.07)
FLAG = float32(0.5)
RESET_LOW, RESET_HIGH = float32(-0.6), float32(-0.4)

ZERO, ONE, THREE = float32(0.0), float32(1.0), float32(3.0)

POSITION, VELOCITY = range(2)
OBSERVATIONS = Box((-1.2, -0.07), (0.6, 0.07))


def reset(state, env, random):
    """Start at rest near the bottom."""
    state[POSITION, env] = uniform(random, 0, RESET_LOW, RESET_HIGH)
    state[VELOCITY, env] = ZERO


def step(state, env, action):
    """Semi-implicit Euler, with a wall on the left. Returns (reward, terminated)."""
    _, slope = sine_and_cosine(THREE * state[POSITION, env])
    velocity = state[VELOCITY, env] + float32(action - 1) * PUSH - slope * GRAVITY
    velocity = min(max(velocity, -MAX_VELOCITY), MAX_VELOCITY)
    position = min(max(state[POSITION, env] + velocity, MIN_POSITION), MAX_POSITION)
    state[POSITION, env] = position
    state[VELOCITY, env] = max(velocity, ZERO) if position == MIN_POSITION else velocity
    return -ONE, (position >= FLAG) & (velocity >= ZERO)


def observe(state, env, obs):
    """Everything is seen."""
    obs[env, POSITION] = state[POSITION, env]
    obs[env, VELOCITY] = state[VELOCITY, env]


SPEC = EnvSpec(
    name="MountainCar-v0",
    state_size=2,
    obs_size=2,
    actions=Discrete(3),
    max_episode_steps=200,
    reset=reset,
    step=step,
    observe=observe,
    observations=OBSERVATIONS,
)
