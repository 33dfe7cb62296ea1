"""Environments with the kinds of actions that are worth testing."""

from __future__ import annotations

from numpy import float32

from operant.trainer.envs.spec import Box, EnvSpec, MultiDiscrete

ONE, TENTH = float32(1.0), float32(0.1)


def point_reset(state, env, random):
    """Two numbers at rest, different in every environment."""
    number = random[-4]  # the environment's own; `env` is only where it lies
    state[0, env] = TENTH * float32(number % 7)
    state[1, env] = -TENTH * float32(number % 5)


def point_step(state, env, action):
    """The actions push; it pays to be near 0, and the task ends far from it."""
    state[0, env] += TENTH * action[0]
    state[1, env] += TENTH * action[1]
    distance = abs(state[0, env]) + abs(state[1, env])
    return ONE - distance, distance > float32(3.0)


def point_observe(state, env, obs):
    obs[env, 0] = state[0, env]
    obs[env, 1] = state[1, env]


POINT = EnvSpec(
    "point", 2, 2, Box((-2.0, -0.5), (2.0, 1.5)), 20, point_reset, point_step, point_observe
)


def switches_step(state, env, action):
    """Pays for the first switch at 2 and the second at 1; the observation alternates."""
    state[0, env] = -state[0, env] + TENTH
    reward = (ONE if action[0] == 2 else -ONE) + (ONE if action[1] == 1 else -ONE)
    return reward, False


SWITCHES = EnvSpec(
    "switches", 2, 2, MultiDiscrete((3, 2)), 20, point_reset, switches_step, point_observe
)
