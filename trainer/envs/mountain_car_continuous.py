"""The car in the valley with an engine of any strength, and fuel to pay for.

Source: equations and constants as in Gymnasium's MountainCarContinuous-v0. Units as in
`mountain_car`, of which it shares valley and start.
"""

from __future__ import annotations

from numpy import float32

from ..spaces import Box
from .mountain_car import (
    GRAVITY,
    MAX_POSITION,
    MAX_VELOCITY,
    MIN_POSITION,
    OBSERVATIONS,
    ONE,
    POSITION,
    THREE,
    VELOCITY,
    ZERO,
    observe,
    reset,
)
from .spec import EnvSpec
from .trigonometry import sine_and_cosine

POWER = float32(0.0015)
FLAG = float32(0.45)
ARRIVAL_REWARD = float32(100.0)
FUEL_COST = float32(0.1)


def step(state, env, action):
    """Semi-implicit Euler, with a wall on the left; fuel is paid for what was asked, not for what
    the engine gave. Returns (reward, terminated).
    """
    force = min(max(action[0], -ONE), ONE)
    _, slope = sine_and_cosine(THREE * state[POSITION, env])
    velocity = state[VELOCITY, env] + force * POWER - slope * GRAVITY
    velocity = min(max(velocity, -MAX_VELOCITY), MAX_VELOCITY)
    position = min(max(state[POSITION, env] + velocity, MIN_POSITION), MAX_POSITION)
    velocity = max(velocity, ZERO) if position == MIN_POSITION else velocity
    state[POSITION, env], state[VELOCITY, env] = position, velocity
    terminated = (position >= FLAG) & (velocity >= ZERO)
    return (ARRIVAL_REWARD if terminated else ZERO) - FUEL_COST * action[0] * action[0], terminated


SPEC = EnvSpec(
    name="MountainCarContinuous-v0",
    state_size=2,
    obs_size=2,
    actions=Box((-1.0,), (1.0,)),
    max_episode_steps=999,
    reset=reset,
    step=step,
    observe=observe,
    observations=OBSERVATIONS,
)
