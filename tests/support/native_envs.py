"""Batched environments for tests, which write into the arrays that they are given."""

from __future__ import annotations

import numpy as np

from operant.trainer.envs.spec import Discrete


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


class Restartable(Counters):
    def restart(self, env):
        self.steps[env] = 0
        self.arrays.obs[env, 1] = 0


def make(num_envs):
    return Counters(num_envs)


def make_restartable(num_envs):
    return Restartable(num_envs)


def make_none(num_envs):
    return object()
