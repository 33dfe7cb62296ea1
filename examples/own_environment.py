"""An environment of one's own: drive to a target on a line. Gymnasium's interface is enough."""

import sys

import gymnasium
import numpy as np

from operant.cli import cli


class Line(gymnasium.Env):
    """Observation: the distance to the target; action: a velocity; reward: minus the distance."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.distance = self.np_random.uniform(-5, 5)
        return np.array([self.distance], np.float32), {}

    def step(self, action):
        self.distance = float(np.clip(self.distance - action[0], -10, 10))
        is_there = abs(self.distance) < 0.1
        obs = np.array([self.distance], np.float32)
        return obs, -abs(self.distance), is_there, False, {}


gymnasium.register("Line-v0", Line, max_episode_steps=50)

env_steps = sys.argv[1] if len(sys.argv) > 1 else "100_000"
settings = ["env=gymnasium:Line-v0", "num_envs=16", f"total_env_steps={env_steps}"]
cli(["train", *(word for setting in settings for word in ("--set", setting))])
