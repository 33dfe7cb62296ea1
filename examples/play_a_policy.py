"""A trained policy plays one greedy episode in Gymnasium's own CartPole.

First `operant train cart_pole_ppo_smoke`; then this plays the latest run, or the run named.
"""

import sys

import gymnasium
import torch

from operant.shared.runs.find_runs import find_run, latest_run
from operant.trainer.experiment.trained_policy import load_trained

run = find_run(sys.argv[1]) if len(sys.argv) > 1 else latest_run()
trained = load_trained(run)
if not trained.config.env.endswith(("cart_pole", "CartPole-v1")):
    sys.exit(f"{run.id} was trained on {trained.config.env}: name a run of CartPole")
env = gymnasium.make("CartPole-v1")
obs, _ = env.reset(seed=1)
return_, is_over = 0.0, False
memory = trained.first_state(1)  # of nothing, where the policy does not remember
while not is_over:
    action, memory = trained.step(torch.from_numpy(obs).unsqueeze(0), memory)
    obs, reward, terminated, truncated, _ = env.step(action.item())
    return_ += reward
    is_over = terminated or truncated
print(f"{run.id}: return {return_:.0f}")
