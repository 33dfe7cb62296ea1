"""An environment of one's own: drive to a target on a line. Gymnasium's interface is enough."""

import sys

import gymnasium
import numpy as np

import operant


class Line(gymnasium.Env):
    """Observation: the distance to the target; action: a velocity; reward: minus the distance."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.distance, self.num_steps = self.np_random.uniform(-5, 5), 0
        return np.array([self.distance], np.float32), {}

    def step(self, action):
        self.distance = float(np.clip(self.distance - action[0], -10, 10))
        self.num_steps += 1
        obs, is_there = np.array([self.distance], np.float32), abs(self.distance) < 0.1
        return obs, -abs(self.distance), is_there, self.num_steps == 50, {}


env_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
run = operant.train(Line, total_env_steps=env_steps)
policy = operant.load(run)
print("distance 3, action", policy.act([3.0]))
print("mean return", operant.evaluate(policy, num_episodes=100).mean)
