"""One side of `cart_pole.py`: PPO as CleanRL's `ppo.py` publishes it, written anew.

CleanRL is single files to read and not a package to import, so what is here follows its published
settings and the details it documents, in code of our own: separate actor and critic of 64-64 tanh
units with orthogonal weights, Adam with epsilon 1e-5 and a linearly falling rate of 2.5e-4, gamma
0.99, lambda 0.95, 4 epochs of 4 minibatches, advantages normalised over each, clipping of ratios
and values at 0.2, entropy 0.01, value loss 0.5, gradients of both networks together cut at 0.5.
Time limits are ends. Environments are Gymnasium's `SyncVectorEnv` of recorded episodes.

Source: Huang et al. 2022, "The 37 implementation details of PPO" and "CleanRL", JMLR 23(274).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium
import numpy as np
import torch
from results import EPISODES, print_result
from torch import Tensor, nn

START_S = time.perf_counter()
GAMMA, GAE_LAMBDA, CLIP = 0.99, 0.95, 0.2
NUM_EPOCHS, NUM_MINIBATCHES = 4, 4


def network(outputs: int, last_gain: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, units, gain in ((4, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, last_gain)):
        layer = nn.Linear(inputs, units)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def make_envs(num_envs: int) -> Any:
    """One after the other, recorded, and reset in the step that ends an episode."""

    def make_env() -> Any:
        return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))

    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    return gymnasium.vector.SyncVectorEnv([make_env] * num_envs, autoreset_mode=same_step)


def advantages_of(rewards: Tensor, values: Tensor, dones: Tensor, last: Tensor) -> Tensor:
    """Generalised advantages [T, N]; `dones` [T + 1, N] says which observations began episodes."""
    advantages, carried = torch.zeros_like(rewards), torch.zeros_like(last)
    following = last
    for t in reversed(range(len(rewards))):
        going_on = 1 - dones[t + 1]
        delta = rewards[t] + GAMMA * following * going_on - values[t]
        carried = delta + GAMMA * GAE_LAMBDA * going_on * carried
        advantages[t], following = carried, values[t]
    return advantages


def loss_of(actor: nn.Module, critic: nn.Module, batch: list[Tensor]) -> Tensor:
    obs, actions, old_log_probs, advantages, returns, old_values = batch
    chosen = torch.distributions.Categorical(logits=actor(obs))
    ratios = (chosen.log_prob(actions) - old_log_probs).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy = torch.max(-advantages * ratios, -advantages * ratios.clamp(1 - CLIP, 1 + CLIP)).mean()
    values = critic(obs).squeeze(-1)
    near = old_values + (values - old_values).clamp(-CLIP, CLIP)
    value = 0.5 * torch.max((values - returns) ** 2, (near - returns) ** 2).mean()
    return policy - 0.01 * chosen.entropy().mean() + 0.5 * value


def main(seed: int, env_steps: int, num_envs: int, rollout_steps: int, num_threads: int) -> None:
    torch.set_num_threads(num_threads)
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    envs = make_envs(num_envs)
    actor, critic = network(2, 0.01), network(1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(parameters, lr=2.5e-4, eps=1e-5)
    shape, size = (rollout_steps, num_envs), rollout_steps * num_envs
    obs, actions = torch.zeros((*shape, 4)), torch.zeros(shape, dtype=torch.int64)
    log_probs, rewards, values = (torch.zeros(shape) for _ in range(3))
    dones = torch.zeros((rollout_steps + 1, num_envs))
    now, marks = torch.as_tensor(envs.reset(seed=seed)[0]), []
    num_iterations = max(env_steps // size, 2)
    for iteration in range(num_iterations):
        adam.param_groups[0]["lr"] = 2.5e-4 * (1 - iteration / num_iterations)
        dones[0] = dones[-1].clone()
        for t in range(rollout_steps):
            obs[t] = now
            with torch.no_grad():
                chosen = torch.distributions.Categorical(logits=actor(now))
                actions[t] = chosen.sample()
                log_probs[t], values[t] = chosen.log_prob(actions[t]), critic(now).squeeze(-1)
            after, reward, terminated, truncated, _ = envs.step(actions[t].numpy())
            rewards[t] = torch.as_tensor(reward)
            now, dones[t + 1] = torch.as_tensor(after), torch.as_tensor(terminated | truncated)
        with torch.no_grad():
            last = critic(now).squeeze(-1)
        advantages = advantages_of(rewards, values, dones, last)
        rollout = (obs, actions, log_probs, advantages, advantages + values, values)
        samples = [x.reshape(size, *x.shape[2:]) for x in rollout]
        for _ in range(NUM_EPOCHS):
            for index in np.split(random.permutation(size), NUM_MINIBATCHES):
                adam.zero_grad()
                loss_of(actor, critic, [x[index] for x in samples]).backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                adam.step()
        marks.append((time.perf_counter(), (iteration + 1) * size))
    mean = greedy_return(actor, seed)
    print_result(START_S, marks, NUM_EPOCHS, mean, "gymnasium", "torch")


@torch.no_grad()
def greedy_return(actor: nn.Module, seed: int) -> float:
    """Mean of so many episodes, one in each environment."""
    envs = make_envs(EPISODES)
    now, _ = envs.reset(seed=1000 + seed)
    returns, playing = np.zeros(EPISODES), np.ones(EPISODES, bool)
    while playing.any():
        best = actor(torch.as_tensor(now)).argmax(-1).numpy()
        now, reward, terminated, truncated, _ = envs.step(best)
        returns[playing] += reward[playing]
        playing &= ~(terminated | truncated)
    return float(returns.mean())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
