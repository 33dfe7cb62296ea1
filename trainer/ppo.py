"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .advantages import gae
from .config import PPOConfig
from .policy import ActorCritic
from .rollout import Rollout
from .schedules import scheduled
from .workers import Shard, Workers, shards

SHARD_SAMPLES = 2048
EPSILON = 1e-8

LOSS_METRICS = {
    "policy": "loss/policy",
    "value": "loss/value",
    "entropy": "policy/entropy",
    "kl": "policy/approx_kl",
    "clipped": "policy/clip_fraction",
}


class Batch(NamedTuple):
    """Samples to learn from; the first dimension of each is [B]."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor

    def at(self, index: Tensor | Shard) -> Batch:
        return Batch(*(x[index] for x in self))


class LossSums(NamedTuple):
    """Sums over samples, as scalars: losses, and what people watch to see an update go wrong."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor
    clipped: Tensor


def ppo_loss_sums(policy: ActorCritic, batch: Batch, clip_coef: float) -> LossSums:
    """The terms of the clipped objective, summed over the samples.

        policy = -min(ratio * A, clip(ratio, 1 - clip_coef, 1 + clip_coef) * A)
        value  = (V - R)^2 / 2

    `kl` is the estimator (ratio - 1) - log(ratio) of KL(old, new), `clipped` the count of ratios
    outside the clip range. Source: arXiv:1707.06347, eq. 7; http://joschu.net/blog/kl-approx.html.
    """
    outputs = policy.outputs(batch.obs)
    log_probs, entropy = policy.distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratios = log_probs - batch.log_probs
    ratios = log_ratios.exp()
    clipped_ratios = ratios.clamp(1 - clip_coef, 1 + clip_coef)
    objective = torch.minimum(ratios * batch.advantages, clipped_ratios * batch.advantages)
    value_errors = policy.values(batch.obs) - batch.returns
    with torch.no_grad():
        kl = ((ratios - 1) - log_ratios).sum()
        clipped = ((ratios - 1).abs() > clip_coef).sum(dtype=torch.float32)
    return LossSums(-objective.sum(), 0.5 * (value_errors**2).sum(), entropy.sum(), kl, clipped)


def normalized(advantages: Tensor) -> Tensor:
    """Mean 0 and deviation 1; a single sample is left as it is."""
    if advantages.numel() < 2:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + EPSILON)


@dataclass
class Coefficients:
    """What the schedules give for one iteration."""

    learning_rate: float
    clip_coef: float
    entropy_coef: float

    @classmethod
    def at(cls, config: PPOConfig, progress_fraction: float) -> Coefficients:
        return cls(
            scheduled(config.learning_rate, config.learning_rate_schedule, progress_fraction),
            scheduled(config.clip_coef, config.clip_schedule, progress_fraction),
            scheduled(config.entropy_coef, config.entropy_schedule, progress_fraction),
        )


class PPO:
    """Learns from rollouts: epochs of minibatches, each minibatch shared out to the workers.

    `num_steps` counts the steps of the optimizer since the start.
    """

    def __init__(self, policy: ActorCritic, config: PPOConfig, workers: Workers, seed: int) -> None:
        self._policy, self._config, self._workers = policy, config, workers
        self._parameters = policy.parameters_to_learn()
        self.optimizer = torch.optim.Adam(self._parameters, config.learning_rate, fused=True)
        self._generator = torch.Generator().manual_seed(seed)
        self.num_steps = 0

    def update(
        self, rollout: Rollout, rewards: Tensor, progress_fraction: float
    ) -> dict[str, float]:
        """Learn from `rollout` with `rewards` [T, N], normalised or not; returns the metrics."""
        config = self._config
        coefficients = Coefficients.at(config, progress_fraction)
        for group in self.optimizer.param_groups:
            group["lr"] = coefficients.learning_rate
        advantages, returns = gae(
            rewards, rollout.values, rollout.next_values, rollout.terminated, rollout.truncated,
            config.gamma, config.gae_lambda,
        )  # fmt: skip
        if config.normalize_advantages == "rollout":
            advantages = normalized(advantages)
        tensors = (rollout.obs[:-1], rollout.actions, rollout.log_probs, advantages, returns)
        batch = Batch(*(x.flatten(0, 1) for x in tensors))
        means, grad_norm = self._epochs(batch, coefficients)
        return {
            **means,
            "value/explained_variance": explained_variance(batch.returns, rollout.values),
            "optimizer/grad_norm": grad_norm,
            "optimizer/learning_rate": coefficients.learning_rate,
        }

    def _epochs(self, batch: Batch, coefficients: Coefficients) -> tuple[dict[str, float], float]:
        """Returns the mean of the loss terms over all samples seen, and of the gradient norms."""
        config = self._config
        size = len(batch.obs)
        sums, norms = [], []
        for _ in range(config.num_epochs):
            order = torch.randperm(size, generator=self._generator)
            for index in order.chunk(config.num_minibatches):
                minibatch_sums, norm = self._learn(batch, index, coefficients)
                sums.append(minibatch_sums)
                norms.append(norm)
            if config.target_kl and _mean_kl(sums, config, size) > config.target_kl:
                break
        num_samples = len(sums) * size / config.num_minibatches
        means = (torch.stack(sums).sum(0) / num_samples).tolist()
        names = [LOSS_METRICS[field] for field in LossSums._fields]
        return dict(zip(names, means, strict=True)), float(torch.stack(norms).mean())

    def _learn(
        self, batch: Batch, index: Tensor, coefficients: Coefficients
    ) -> tuple[Tensor, Tensor]:
        """One optimizer step on the samples `index`; returns loss sums [5] and gradient norm."""
        advantages = batch.advantages
        if self._config.normalize_advantages == "minibatch":
            advantages = advantages.clone()
            advantages[index] = normalized(advantages[index])
        batch = batch._replace(advantages=advantages)
        results = self._workers.map(
            lambda shard: self._gradients(batch.at(index[shard]), len(index), coefficients),
            shards(len(index), SHARD_SAMPLES),
        )
        # Summed in the order of the shards: the same numbers whichever thread was first.
        for i, parameter in enumerate(self._parameters):
            parameter.grad = torch.stack([gradients[i] for gradients, _ in results]).sum(0)
        # Each network by itself: they share no layers, and a large value loss would otherwise
        # shrink the actor's steps.
        norms = [
            torch.nn.utils.clip_grad_norm_(network.parameters(), self._config.max_grad_norm)
            for network in (self._policy.actor, self._policy.critic)
        ]
        self.optimizer.step()
        self.num_steps += 1
        return torch.stack([sums for _, sums in results]).sum(0), torch.stack(norms)

    def _gradients(
        self, batch: Batch, minibatch_size: int, coefficients: Coefficients
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """A shard's part of the gradients of the mean loss, and its loss sums [5]."""
        sums = ppo_loss_sums(self._policy, batch, coefficients.clip_coef)
        loss = (
            sums.policy
            + self._config.value_coef * sums.value
            - coefficients.entropy_coef * sums.entropy
        ) / minibatch_size
        return torch.autograd.grad(loss, self._parameters), torch.stack(sums).detach()

    def state_dict(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state_dict(), "generator": self._generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self._generator.set_state(state["generator"])


def explained_variance(returns: Tensor, values: Tensor) -> float:
    """The fraction of the returns' variance that the values predict; NaN when they never vary."""
    variance = returns.var()
    return float(1 - (returns - values.flatten()).var() / variance) if variance > 0 else math.nan


def _mean_kl(sums: list[Tensor], config: PPOConfig, rollout_size: int) -> float:
    """approx_kl over the latest epoch."""
    latest = torch.stack(sums[-config.num_minibatches :]).sum(0)
    return float(latest[LossSums._fields.index("kl")]) / rollout_size
