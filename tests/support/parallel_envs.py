"""PettingZoo environments for tests: agents that leave, come late and differ."""

from __future__ import annotations

from typing import ClassVar

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv


class Relay(ParallelEnv):
    """Agent i of three leaves after i + 2 steps, "c" by a time limit, and the others by the task;
    each sees its name's number, the step and its last action, and is paid the step.
    """

    metadata: ClassVar = {"name": "relay"}
    possible_agents: ClassVar = ["a", "b", "c"]

    def observation_space(self, agent):
        return gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(2, start=5)

    def obs(self, agents, actions=None):
        return {
            agent: np.array([ord(agent), self.steps, (actions or {}).get(agent, -1)])
            for agent in agents
        }

    def reset(self, seed=None, options=None):
        self.agents, self.steps = list(self.possible_agents), 0
        return self.obs(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert list(actions) == self.agents
        self.steps += 1
        acted = self.agents
        leave = {agent: self.steps >= 2 + "abc".index(agent) for agent in acted}
        self.agents = [agent for agent in acted if not leave[agent]]
        return (
            self.obs(acted, actions),
            dict.fromkeys(acted, float(self.steps)),
            {agent: leave[agent] and agent != "c" for agent in acted},
            {agent: leave[agent] and agent == "c" for agent in acted},
            {agent: {} for agent in acted},
        )

    def close(self):
        pass


class Late(Relay):
    """ "c" comes in the second step only, and "a" is gone after it without a word."""

    def reset(self, seed=None, options=None):
        obs, _ = super().reset(seed, options)
        self.agents = ["a", "b"]
        return {agent: obs[agent] for agent in self.agents}, {}

    def step(self, actions):
        self.steps += 1
        if self.steps == 1:
            acted, self.agents = self.agents, ["a", "b", "c"]
        elif self.steps == 2:
            acted, self.agents = ["b", "c"], ["b", "c"]
        else:
            acted, self.agents = self.agents, []
        over = dict.fromkeys(acted, not self.agents)
        seen = [*acted, *(agent for agent in self.agents if agent not in acted)]
        rewards = dict.fromkeys(acted, 1.0)
        return self.obs(seen, actions), rewards, over, dict.fromkeys(acted, False), {}


class Unequal(Relay):
    def observation_space(self, agent):
        size = 3 if agent == "a" else 4
        return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)


class Doubtful(Relay):
    def step(self, actions):
        obs, rewards, terminated, truncated, infos = super().step(actions)
        return obs, rewards, terminated, dict.fromkeys(truncated, 0.5), infos


class Whole(Relay):
    """Says that it shows integers."""

    def observation_space(self, agent):
        return gymnasium.spaces.Box(-1, 999, (3,), np.int64)

    def obs(self, agents, actions=None):
        seen = super().obs(agents, actions)
        return {agent: numbers / 2 for agent, numbers in seen.items()}


def parallel_env():
    return Relay()


def make_doubtful():
    return Doubtful()


def make_whole():
    return Whole()


def make_late():
    return Late()


def make_unequal():
    return Unequal()


class Masked(Relay):
    """Shows which actions are legal."""

    def observation_space(self, agent):
        space = super().observation_space(agent)
        masks = gymnasium.spaces.MultiBinary(2)
        return gymnasium.spaces.Dict({"observation": space, "action_mask": masks})

    def obs(self, agents, actions=None):
        mask = np.ones(2, np.int8)
        return {
            agent: {"observation": seen, "action_mask": mask}
            for agent, seen in super().obs(agents, actions).items()
        }


def make_masked():
    return Masked()


class Cameras(Relay):
    """Agents see a picture of one colour and a number."""

    possible_agents: ClassVar = ["a", "b"]

    def observation_space(self, agent):
        picture = gymnasium.spaces.Box(0, 255, (8, 8, 1), np.uint8)
        number = gymnasium.spaces.Box(-1, 9, (1,), np.float32)
        return gymnasium.spaces.Dict({"camera": picture, "number": number})

    def obs(self, agents, actions=None):
        return {
            agent: {"camera": np.full((8, 8, 1), 7 + i, np.uint8), "number": np.array([0.5 + i])}
            for i, agent in enumerate(agents)
        }


class MaskedCameras(Cameras):
    """With three choices, of which the middle one is illegal."""

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        obs, infos = super().reset(seed, options)
        return obs, {agent: self.masked(infos.get(agent, {})) for agent in obs}

    def step(self, actions):
        obs, *others, infos = super().step(actions)
        return obs, *others, {agent: self.masked(infos.get(agent, {})) for agent in obs}

    def masked(self, info):
        return {**info, "action_mask": np.array([1, 0, 1], np.int8)}


def make_masked_cameras():
    return MaskedCameras()
