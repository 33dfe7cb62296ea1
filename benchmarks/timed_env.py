"""A Gymnasium environment whose steps take as long as the environment's variables say.

TIMED_ENV_SLEEP_US microseconds of sleep, then TIMED_ENV_LOOPS rounds of arithmetic in Python.
"""

from __future__ import annotations

import os
import time

import gymnasium
import numpy as np

SLEEP_S = float(os.environ.get("TIMED_ENV_SLEEP_US", 0)) * 1e-6
LOOPS = int(os.environ.get("TIMED_ENV_LOOPS", 0))


class Timed(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (8,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def __init__(self):
        self.obs = np.zeros(8, np.float32)
        self.count = 0

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self.obs, {}

    def step(self, action):
        if SLEEP_S:
            time.sleep(SLEEP_S)
        compute(LOOPS)
        self.count += 1
        return self.obs, 1.0, False, self.count == 200, {}


def compute(loops):
    x = 0.5
    for _ in range(loops):
        x = 3.9 * x * (1.0 - x)
    return x


def make():
    return Timed()
