"""The PPO update on one device, with nothing that the host would have to decide or wait for.

`ppo.py` is the reference. Coefficients are tensors; where `target_kl` ends an update early, the
steps that remain are taken with nothing moved, so that every update is the same sequence of work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..config import PPOConfig
from ..policy import ActorCritic
from ..ppo import KL, LOSS_METRICS, Batch, Coefficients, normalized, ppo_loss_sums, scaled_down
from .advantages import write_advantages
from .optimizing import CudaAdam
from .orders import Orders
from .rollout import CudaRollout

METRIC_NAMES = (
    *LOSS_METRICS,
    "value/explained_variance",
    "optimizer/grad_norm",
    "optimizer/learning_rate",
)


class CudaPPO:
    """Learns from one rollout's memory, again and again; every part of `update` can be captured."""

    def __init__(
        self, policy: ActorCritic, config: PPOConfig, rollout: CudaRollout, seed: int
    ) -> None:
        self._policy, self._config, self._rollout = policy, config, rollout
        self._parameters = policy.parameters_to_learn()
        device = rollout.obs.device
        self.optimizer = CudaAdam(policy.flat_parameters)
        self._advantages = torch.zeros_like(rollout.rewards)
        self._returns = torch.zeros_like(rollout.rewards)
        self._orders = Orders(rollout.rewards.numel(), seed, device)

    def update(self, rewards: Tensor, progress_fraction: Tensor) -> Tensor:
        """Learn from the rollout with `rewards` [T, N]; `progress_fraction` is a scalar on the
        device. Returns the metrics [M] float64, in the order of METRIC_NAMES.
        """
        config, rollout = self._config, self._rollout
        coefficients = Coefficients.at(config, progress_fraction)
        write_advantages(
            rollout, rewards, config.gamma, config.gae_lambda, self._advantages, self._returns
        )
        advantages = self._advantages
        if config.normalize_advantages == "rollout":
            advantages = normalized(advantages)
        tensors = (
            rollout.obs[:-1], rollout.actions, rollout.log_probs, advantages, self._returns,
            rollout.values[:-1],
        )  # fmt: skip
        batch = Batch(*(x.flatten(0, 1) for x in tensors))
        mean_losses, grad_norm = self._epochs(batch, coefficients)
        return torch.cat([
            mean_losses,
            torch.stack([
                explained_variance(self._returns, rollout.values[:-1]),
                grad_norm,
                coefficients.learning_rate,
            ]).double(),
        ])  # fmt: skip

    def _epochs(self, batch: Batch, coefficients: Coefficients) -> tuple[Tensor, Tensor]:
        """Returns mean loss terms [5] and the mean gradient norm of all steps taken, float64."""
        config, size = self._config, len(batch.obs) // self._config.num_minibatches
        active = batch.returns.new_ones(1, dtype=torch.float64)
        sums = active.new_zeros(len(LOSS_METRICS))
        norms, steps = active.new_zeros(1), active.new_zeros(1)
        for _ in range(config.num_epochs):
            order = self._orders.next()
            epoch_kl = active.new_zeros(1)
            for number in range(config.num_minibatches):
                index = order[number * size : (number + 1) * size]
                minibatch_sums, norm = self._learn(batch.at(index), coefficients, active)
                sums += minibatch_sums * active
                epoch_kl += minibatch_sums[KL]
                norms += norm * active
                steps += active
            if config.target_kl:
                active = active * (epoch_kl <= config.target_kl * len(batch.obs))
        return sums / (steps * size), (norms / steps).squeeze(0)

    def _learn(
        self, minibatch: Batch, coefficients: Coefficients, active: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One optimizer step; returns loss sums [5] and the mean gradient norm, float64."""
        config = self._config
        if config.normalize_advantages == "minibatch":
            minibatch = minibatch._replace(advantages=normalized(minibatch.advantages))
        sums = ppo_loss_sums(self._policy, minibatch, coefficients.clip_coef, config.value_clip)
        loss = (
            sums.policy + config.value_coef * sums.value - coefficients.entropy_coef * sums.entropy
        ) / len(minibatch.obs)
        gradients = torch.autograd.grad(loss, self._parameters)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        num_actor = self._policy.num_actor_parameters
        norms = [
            scaled_down(part, config.max_grad_norm) for part in (flat[:num_actor], flat[num_actor:])
        ]
        self.optimizer.step(flat, coefficients.learning_rate, active)
        self._policy.limit_log_std()
        return torch.stack(sums).detach().double(), torch.stack(norms).mean().double()

    def state_dict(self) -> dict[str, Any]:
        """The parts that `PPO` has as well under the same names."""
        return {"optimizer": self.optimizer.state_dict(), "num_orders": int(self._orders.count)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self._orders.count.fill_(state.get("num_orders", 0))


def explained_variance(returns: Tensor, values: Tensor) -> Tensor:
    """The fraction of the returns' variance that the values predict; NaN when they never vary."""
    variance = returns.var()
    fraction = 1 - (returns - values).var() / variance
    return torch.where(variance > 0, fraction, torch.nan)
