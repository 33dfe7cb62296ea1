"""Environments with action masks in every place where operant finds them; illegal actions raise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy import float32
from pettingzoo import ParallelEnv

from operant.trainer.envs.spec import EnvSpec
from operant.trainer.jit.streams import uniform
from operant.trainer.spaces import Discrete as OurDiscrete
from operant.trainer.spaces import MultiDiscrete as OurMultiDiscrete

NUM_ACTIONS = 5
NUM_STEPS = 20  # of an episode


class Legal(gymnasium.Env):
    """The highest of the legal entries of the observation is right. An illegal action raises."""

    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = Box(0, 1, (NUM_ACTIONS,), np.float32)
    action_space = Discrete(NUM_ACTIONS)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = 0
        return self.show(), self.info()

    def show(self):
        self.obs = self.np_random.random(NUM_ACTIONS).astype(np.float32)
        self.is_legal = self.np_random.random(NUM_ACTIONS) < 0.3
        self.is_legal[self.np_random.integers(NUM_ACTIONS)] = True
        return self.obs

    def info(self):
        return {"action_mask": self.is_legal.astype(np.int8)}

    def step(self, action):
        if not self.is_legal[action]:
            raise ValueError(f"{action} is illegal")
        reward = float(action == np.argmax(np.where(self.is_legal, self.obs, -1)))
        self.number += 1
        obs, is_over = self.show(), self.number == NUM_STEPS
        # Nothing is legal once an episode is over, as in many games.
        info = {"action_mask": np.zeros(NUM_ACTIONS, np.int8)} if is_over else self.info()
        return obs, reward, is_over, False, info


class ByMethod(Legal):
    """The masks come from a method, as sb3-contrib's environments have it."""

    def info(self):
        return {}

    def step(self, action):
        return *super().step(action)[:4], {}

    def action_masks(self):
        return self.is_legal


class Several(Legal):
    """The second of two choices has one legal option."""

    action_space = MultiDiscrete([NUM_ACTIONS, 2])

    def info(self):
        return {"action_mask": np.append(self.is_legal, [1, 0])}

    def step(self, action):
        if action[1]:
            raise ValueError("the second choice is illegal")
        *given, info = super().step(action[0])
        return *given, info if len(info["action_mask"]) > NUM_ACTIONS else self.info()


class InDictionary(Legal):
    """The mask is a part of observations, as with PettingZoo and RLlib."""

    observation_space = Dict(
        {"observation": Legal.observation_space, "action_mask": MultiBinary(NUM_ACTIONS)}
    )

    def part(self, obs, info):
        return {"observation": obs, **info}

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed)
        return self.part(obs, info), {}

    def step(self, action):
        obs, *given, info = super().step(action)
        return self.part(obs, info), *given, {}


class BesideParts(InDictionary):
    """So it is, beside an image and a vector."""

    observation_space = Dict(
        {
            "image": Box(0, 255, (8, 8, 3), np.uint8),
            "vector": Legal.observation_space,
            "action_mask": MultiBinary(NUM_ACTIONS),
        }
    )

    def part(self, obs, info):
        return {"image": np.full((8, 8, 3), self.number, np.uint8), "vector": obs, **info}


class OfAnImage(InDictionary):
    observation_space = Dict(
        {"observation": Box(0, 255, (8, 8, 3), np.uint8), "action_mask": MultiBinary(NUM_ACTIONS)}
    )

    def part(self, obs, info):
        return {"observation": np.full((8, 8, 3), 255 * obs[0], np.uint8), **info}


class Vector(SyncVectorEnv):
    """A vector environment of its own, whose masks are in infos."""

    env_class: type = Legal
    mode = AutoresetMode.NEXT_STEP

    def __init__(self, num_envs=1, **kwargs):
        super().__init__([self.env_class] * num_envs, autoreset_mode=self.mode)


class VectorSameStep(Vector):
    mode = AutoresetMode.SAME_STEP


class VectorDisabled(Vector):
    mode = AutoresetMode.DISABLED


class VectorInDictionary(Vector):
    env_class = InDictionary


class VectorInDictionarySameStep(VectorSameStep):
    env_class = InDictionary


class VectorOfSeveral(VectorSameStep):
    env_class = Several


class VectorByMethod(VectorDisabled):
    env_class = ByMethod

    def action_masks(self):
        return np.stack([env.action_masks() for env in self.envs])


VECTORS = (
    Vector, VectorSameStep, VectorDisabled, VectorInDictionary, VectorInDictionarySameStep,
    VectorOfSeveral, VectorByMethod,
)  # fmt: skip


class Team(ParallelEnv):
    """Two agents, each with a `Legal` of its own; the second leaves after half of the steps."""

    metadata: ClassVar = {"name": "team"}
    possible_agents: ClassVar = ["a", "b"]
    env_class: type = Legal

    def __init__(self):
        self.envs = {agent: self.env_class() for agent in self.possible_agents}

    def observation_space(self, agent):
        return self.env_class.observation_space

    def action_space(self, agent):
        return self.env_class.action_space

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        seeds = [None, None] if seed is None else [seed, seed + 1]
        given = {
            agent: env.reset(seed=own)
            for (agent, env), own in zip(self.envs.items(), seeds, strict=True)
        }
        return {a: x[0] for a, x in given.items()}, {a: x[1] for a, x in given.items()}

    def step(self, actions):
        given = {agent: self.envs[agent].step(action) for agent, action in actions.items()}
        over = {a: x[2] or (a == "b" and self.envs[a].number > 9) for a, x in given.items()}
        self.agents = [agent for agent in self.agents if not over[agent]]
        obs, rewards, _, truncated, infos = (
            {agent: x[i] for agent, x in given.items()} for i in range(5)
        )
        return obs, rewards, over, truncated, infos

    def close(self):
        pass


class TeamInDictionary(Team):
    env_class = InDictionary


class TeamOfSeveral(Team):
    env_class = Several


class ShortMasks(Legal):
    """In the third observation the mask is too short."""

    def info(self):
        given = super().info()["action_mask"]
        return {"action_mask": given[: NUM_ACTIONS - (self.number == 2)]}


class WithoutMasks(Legal):
    """The third observation has no mask."""

    def info(self):
        return {} if self.number == 2 else super().info()


class TeamOfShortMasks(Team):
    env_class = ShortMasks


class TeamWithoutMasks(Team):
    env_class = WithoutMasks


class Batched:
    """A batched environment: the last columns of observations are masks. Counts illegal actions."""

    obs_size, mask_size, actions = 2 * NUM_ACTIONS, NUM_ACTIONS, OurDiscrete(NUM_ACTIONS)
    counts = SimpleNamespace(steps=0, illegal=0)

    def __init__(self, num_envs):
        self.rows, self.steps = np.arange(num_envs), np.zeros(num_envs, np.int64)

    def attach(self, arrays):
        self.arrays = arrays

    def reset(self, seeds):
        self.random = np.random.default_rng(int(seeds[0]))
        self.steps[:] = 0
        self.show()

    def show(self):
        obs = self.arrays.obs
        obs[:] = self.random.random(obs.shape)
        self.best = self.random.integers(NUM_ACTIONS, size=len(obs))
        obs[:, NUM_ACTIONS:] = obs[:, NUM_ACTIONS:] < 0.3
        obs[self.rows, NUM_ACTIONS + self.best] = 1

    def step(self):
        a = self.arrays
        self.counts.steps += len(self.rows)
        self.counts.illegal += int((a.obs[self.rows, NUM_ACTIONS + a.actions] == 0).sum())
        a.reward[:] = a.obs[self.rows, a.actions]
        self.steps += 1
        self.show()
        a.terminated[:] = self.steps == NUM_STEPS
        a.final_obs[a.terminated] = a.obs[a.terminated]
        a.final_obs[a.terminated, NUM_ACTIONS:] = 0  # nothing is legal once an episode is over
        self.steps[a.terminated] = 0


class BatchedWithout(Batched):
    """In its eighth step nothing is legal."""

    def show(self):
        super().show()
        if self.steps[0] == 8:
            self.arrays.obs[-1, NUM_ACTIONS:] = 0


class BatchedUnfit(Batched):
    mask_size = 3


# A world of operant's own kind: the mask is the last columns that `observe` writes. Its state: the
# number that must be said, how many illegal actions there were, and the steps.
ONE, ZERO = float32(1.0), float32(0.0)
WORLD_ACTIONS = 4
ALLOWED, ILLEGAL, STEPS = range(3)


def world_reset(state, env, random):
    state[ALLOWED, env] = float32(int(uniform(random, 0, ZERO, float32(3.99))))
    state[STEPS, env] = ZERO


def world_step(state, env, action):
    """Only one action is legal, the next one after each step. An illegal one costs 100."""
    is_legal = action == int(state[ALLOWED, env])
    state[ALLOWED, env] = float32((int(state[ALLOWED, env]) + 1) % 4)
    state[STEPS, env] += ONE
    return (ONE if is_legal else float32(-100.0)), False


def world_observe(state, env, obs):
    obs[env, 0] = state[STEPS, env]
    allowed = int(state[ALLOWED, env])
    obs[env, 1] = ONE if allowed == 0 else ZERO
    obs[env, 2] = ONE if allowed == 1 else ZERO
    obs[env, 3] = ONE if allowed == 2 else ZERO
    obs[env, 4] = ONE if allowed == 3 else ZERO


WORLD = EnvSpec(
    "masked_world", 1 + WORLD_ACTIONS, OurDiscrete(WORLD_ACTIONS), state_size=3,
    max_episode_steps=10, reset=world_reset, step=world_step, observe=world_observe,
    mask_size=WORLD_ACTIONS,
)  # fmt: skip


def several_step(state, env, action):
    is_legal = 2 * action[0] + action[1] == int(state[ALLOWED, env])
    state[ALLOWED, env] = float32((int(state[ALLOWED, env]) + 1) % 4)
    state[STEPS, env] += ONE
    return (ONE if is_legal else float32(-100.0)), False


def several_observe(state, env, obs):
    """Two choices of two options each: the digits of the number."""
    obs[env, 0] = state[STEPS, env]
    high, low = int(state[ALLOWED, env]) // 2, int(state[ALLOWED, env]) % 2
    obs[env, 1] = ONE if high == 0 else ZERO
    obs[env, 2] = ONE if high == 1 else ZERO
    obs[env, 3] = ONE if low == 0 else ZERO
    obs[env, 4] = ONE if low == 1 else ZERO


WORLD_OF_SEVERAL = EnvSpec(
    "masked_world_of_several", 5, OurMultiDiscrete((2, 2)), state_size=3, max_episode_steps=10,
    reset=world_reset, step=several_step, observe=several_observe, mask_size=4,
)  # fmt: skip
