"""PPO with what whole episodes along known routes allow."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..config import PPOConfig
from ..policy import ActorCritic
from ..ppo import PPO, minibatch_orders, scaled_down
from ..rollout import Rollout


class EpisodePPO(PPO):
    """Advantages are centred over the episodes along the same route, step by step."""

    def __init__(
        self,
        policy: ActorCritic,
        config: PPOConfig,
        seed: int,
        rollouts_per_route: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(policy, config, seed, tick)
        self._rollouts_per_route = rollouts_per_route

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        advantages, returns = super().estimates(rollout, rewards)
        return centred(advantages, self._rollouts_per_route), returns

    def fit_critic(self, rollout: Rollout, rewards: Tensor, num_epochs: int, rate: float) -> None:
        """Epochs that move the critic alone, so that its first advice is not noise."""
        _, returns = super().estimates(rollout, rewards)
        obs, returns = rollout.obs[:-1].flatten(0, 1), returns.flatten()
        critic = self._policy.critic
        optimizer = torch.optim.Adam(critic.parameters(), rate)
        config = self._config.model_copy(update={"num_epochs": num_epochs})
        for minibatches in minibatch_orders(len(obs), config, self._generator):
            for index in minibatches:
                loss = 0.5 * ((self._policy.values(obs[index]) - returns[index]) ** 2).mean()
                gradients = torch.autograd.grad(loss, list(critic.parameters()))
                flat = torch.cat([gradient.flatten() for gradient in gradients])
                scaled_down(flat, self._config.max_grad_norm)
                sizes = [p.numel() for p in critic.parameters()]
                for parameter, part in zip(
                    critic.parameters(), torch.split(flat, sizes), strict=True
                ):
                    parameter.grad = part.view_as(parameter)
                optimizer.step()
                self._tick()
        for parameter in critic.parameters():
            parameter.grad = None


def centred(advantages: Tensor, group_size: int) -> Tensor:
    """`advantages` [T, N] less their mean over each group of columns that stand side by side."""
    if group_size == 1:
        return advantages
    steps, num_envs = advantages.shape
    groups = advantages.view(steps, num_envs // group_size, group_size)
    return (groups - groups.mean(2, keepdim=True)).view(steps, num_envs)
