"""Batched environments for tests, which write into the arrays that they are given."""

from __future__ import annotations

import numpy as np

from operant.trainer.spaces import Discrete


class Counters:
    """Environment e shows its seed and its steps; episodes end after 4 steps. Action 1 pays."""

    obs_size, actions = 2, Discrete(2)

    def __init__(self, num_envs):
        self.steps = np.zeros(num_envs)

    def attach(self, arrays):
        self.arrays = arrays

    def reset(self, seeds):
        self.seeds = seeds % 1000
        self.steps[:] = 0
        self.show()

    def show(self):
        self.arrays.obs[:, 0] = self.seeds
        self.arrays.obs[:, 1] = self.steps

    def step(self):
        a = self.arrays
        self.steps += 1
        self.show()
        a.reward[:] = a.actions
        done = self.steps == 4
        a.terminated[:] = done
        a.truncated[:] = done  # terminated wins
        a.final_obs[done] = a.obs[done]
        self.steps[done] = 0
        self.show()


def make(num_envs):
    return Counters(num_envs)


class Failing(Counters):
    def step(self):
        raise RuntimeError("no pool is left")


class Pairs(Counters):
    """Two agents; the second is gone after its first step, and writes nonsense from then on."""

    num_agents = 2

    def show(self):
        self.arrays.obs[:, 1] = np.repeat(self.steps, 2)

    def reset(self, seeds):
        self.steps[:] = 0
        self.show()

    def step(self):
        a = self.arrays
        second = np.arange(len(a.reward)) % 2 == 1
        a.valid[second] = np.repeat(self.steps == 0, 2)[second]
        self.steps += 1
        a.reward[:] = 1
        done = np.repeat(self.steps == 4, 2)
        a.terminated[:] = np.where(second, True, done)
        a.truncated[:] = False
        self.steps[self.steps == 4] = 0
        self.show()


def make_failing(num_envs):
    return Failing(num_envs)


def make_pairs(num_envs):
    return Pairs(num_envs)


def make_none(num_envs):
    return object()
