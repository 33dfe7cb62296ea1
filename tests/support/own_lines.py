"""Small runs, and an environment that is defined as it would be in a script."""

from __future__ import annotations

import gymnasium
import numpy as np

SMALL = {"num_envs": 4, "rollout_steps": 16, "num_threads": 1, "evaluation": {"num_episodes": 4}}


def make_line_class(num_steps=8):
    """A class of its own each time, that no module has: as a notebook's cell makes one."""

    class Line(gymnasium.Env):
        """Drive to the middle; an episode has `num_steps` steps."""

        observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)
        action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.distance, self.step_number = self.np_random.uniform(-5, 5), 0
            return np.array([self.distance], np.float32), {}

        def step(self, action):
            self.distance = float(np.clip(self.distance - action[0], -10, 10))
            self.step_number += 1
            obs = np.array([self.distance], np.float32)
            return obs, -abs(self.distance), False, self.step_number == num_steps, {}

    return Line
