"""Environments that refuse any action that is not exactly one of their space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from pettingzoo import ParallelEnv

NUMBERS = Box(-1, 1, (2,), np.float32)
SPACES = {
    "discrete": Discrete(3, start=5),
    "int8": Discrete(3, start=-1, dtype=np.int8),
    "uint16": Discrete(3, dtype=np.uint16),
    "int32": MultiDiscrete([2, 3], dtype=np.int32),
    "int64": MultiDiscrete([2, 3], start=[1, 2]),
    "bits": MultiBinary(3),
    "float16": Box(-0.1, 0.3, (2,), np.float16),
    "float32": Box(-0.1, 0.3, (2,), np.float32),
    "float64": Box(np.array([-0.1, -3.0]), np.array([0.1, 1 / 3]), dtype=np.float64),
    "tuple": Tuple((Discrete(2, dtype=np.int16), MultiDiscrete([3], dtype=np.uint8))),
    "dict": Dict({"a": Dict({"b": Discrete(4, start=2)}), "c": MultiBinary(2)}),
    "numbers": Dict({"a": Box(0, 0.7, (1,), np.float64), "b": Box(-1, 0, (2,), np.float16)}),
}


def check(space, action) -> None:
    """Fails for an action that is not of the space, or of another type."""
    assert space.contains(action), (space, action)
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        assert list(action) == list(parts)
        parts, action = parts.values(), action.values()
    if parts is not None:
        for each, part in zip(parts, action, strict=True):
            check(each, part)
        return
    assert action.dtype == space.dtype
    assert isinstance(action, np.ndarray) == (not isinstance(space, Discrete))


class Exact(gymnasium.Env):
    """Ends after three steps."""

    observation_space = NUMBERS
    render_mode = "rgb_array"

    def __init__(self, kind: str) -> None:
        self.action_space = SPACES[kind]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        check(self.action_space, action)
        self.steps += 1
        return np.zeros(2, np.float32), 1.0, self.steps == 3, False, {}


class ExactVector(VectorEnv):
    metadata: ClassVar = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, kind: str, num_envs: int) -> None:
        self.single_observation_space, self.single_action_space = NUMBERS, SPACES[kind]
        self.action_space = batch_space(SPACES[kind], num_envs)
        self.num_envs = num_envs

    def reset(self, *, seed=None, options=None):
        return np.zeros((self.num_envs, 2), np.float32), {}

    def step(self, actions):
        assert self.action_space.contains(actions), actions
        flags = np.zeros(self.num_envs, np.bool_)
        return self.reset()[0], np.zeros(self.num_envs), flags, flags, {}


class ExactParallel(ParallelEnv):
    possible_agents: ClassVar = ["a", "b"]

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def observation_space(self, agent):
        return NUMBERS

    def action_space(self, agent):
        return SPACES[self.kind]

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        return {agent: np.zeros(2, np.float32) for agent in self.agents}, {}

    def step(self, actions):
        for action in actions.values():
            check(SPACES[self.kind], action)
        obs, infos = self.reset()
        return (
            obs,
            dict.fromkeys(obs, 0.0),
            dict.fromkeys(obs, False),
            dict.fromkeys(obs, False),
            infos,
        )

    def close(self):
        pass
