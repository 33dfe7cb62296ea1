"""A trained policy plays one greedy episode in Gymnasium's own CartPole.

First `operant train cart_pole_ppo_smoke`; then this plays the latest run, or the run named.
"""

import sys

import gymnasium

import operant

policy = operant.load(*sys.argv[1:])
if not policy.env.endswith(("cart_pole", "CartPole-v1")):
    sys.exit(f"{policy.run.id} was trained on {policy.env}: name a run of CartPole")

env = gymnasium.make("CartPole-v1")
obs, _ = env.reset(seed=1)
return_, is_over = 0.0, False
state = None
while not is_over:
    action, state = policy.predict(obs, state, deterministic=True)
    obs, reward, terminated, truncated, _ = env.step(action)
    return_ += reward
    is_over = terminated or truncated
print(f"{policy.run.id}: return {return_:.0f}")
