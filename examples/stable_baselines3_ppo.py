"""Stable-Baselines3 as it is, watched through one callback."""

import sys

from stable_baselines3 import PPO

from operant.integrations import SB3Callback

env_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=1, device="cpu")
callback = SB3Callback("sb3-cart-pole")
model.learn(env_steps, callback=callback)
callback.run.finish()
