"""Environments with the kinds of actions that are worth testing."""

from __future__ import annotations

from numpy import float32

from operant.trainer.envs.hosts import Worlds
from operant.trainer.envs.spec import EnvSpec
from operant.trainer.spaces import Box, Discrete, MultiDiscrete

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
    "point", 2, Box((-2.0, -0.5), (2.0, 1.5)), state_size=2, max_episode_steps=20,
    reset=point_reset, step=point_step, observe=point_observe,
)  # fmt: skip


def switches_step(state, env, action):
    """Pays for the first switch at 2 and the second at 1; the observation alternates."""
    state[0, env] = -state[0, env] + TENTH
    reward = (ONE if action[0] == 2 else -ONE) + (ONE if action[1] == 1 else -ONE)
    return reward, False


SWITCHES = EnvSpec(
    "switches", 2, MultiDiscrete((3, 2)), state_size=2, max_episode_steps=20,
    reset=point_reset, step=switches_step, observe=point_observe,
)  # fmt: skip


# Two walkers on one track, who see each other. A field for each one's position, and one for whether
# it still walks. In every third environment, from number 2 on, the second takes no part.
WALKERS = 2
POSITION, WALKS = 0, 2
HALF, EDGE = float32(0.5), float32(1.5)


def walkers_reset(state, env, random):
    """Both in the middle, where they exist."""
    for walker in range(WALKERS):
        state[POSITION + walker, env] = float32(0.0)
        state[WALKS + walker, env] = ONE
    if random[-4] % 3 == 2:
        state[WALKS + 1, env] = float32(0.0)


def walkers_step(state, env, random, actions, reward, terminated, valid):
    """Half a step to the right for action 1, else to the left; at the edge a walker retires."""
    num_left = 0
    for walker in range(WALKERS):
        row = env * WALKERS + walker
        valid[row] = state[WALKS + walker, env] > 0
        if not valid[row]:
            reward[row] = float32(99.0)  # which must not count
            continue
        state[POSITION + walker, env] += HALF if actions[row] == 1 else -HALF
        distance = abs(state[POSITION + walker, env])
        reward[row] = ONE - distance
        terminated[row] = distance >= EDGE
        if terminated[row]:
            state[WALKS + walker, env] = float32(0.0)
        else:
            num_left += 1
    return num_left == 0


def walkers_observe(state, env, obs):
    for walker in range(WALKERS):
        row = env * WALKERS + walker
        obs[row, 0] = state[POSITION + walker, env]
        obs[row, 1] = state[POSITION + 1 - walker, env]
        obs[row, 2] = state[WALKS + walker, env]


WALK = EnvSpec(
    "walkers", 3, Discrete(2), WALKERS, state_size=4, max_episode_steps=6,
    reset=walkers_reset, step=walkers_step, observe=walkers_observe,
)  # fmt: skip


class Described(Worlds):
    """A host that describes every environment of operant's own as `spec`."""

    def __init__(self, spec):
        self.spec = spec

    def num_agents(self, settings):
        return self.spec.num_agents

    def describe(self, settings):
        return self.spec
