"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .adam import Adam
from .advantages import gae
from .config import PPOConfig
from .policy import ActorCritic
from .rollout import Rollout, set_generator
from .schedules import scheduled

EPSILON = 1e-8

# What becomes of the fields of `LossSums`, in their order.
LOSS_METRICS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


class Batch(NamedTuple):
    """Samples to learn from; the first dimension of each is [B]."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor

    def at(self, index: Tensor) -> Batch:
        return Batch(*(x[index] for x in self))


class LossSums(NamedTuple):
    """Sums over samples, as scalars: losses, and what people watch to see an update go wrong."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor
    clipped: Tensor


KL = LossSums._fields.index("kl")


def ppo_loss_sums(
    policy: ActorCritic, batch: Batch, clip_coef: Any, value_clip: float | None = None
) -> LossSums:
    """The terms of the clipped objective, summed over the samples.

        policy = -min(ratio * A, clip(ratio, 1 - clip_coef, 1 + clip_coef) * A)
        value  = (V - R)^2 / 2, or with `value_clip` the larger of that and of
                 (clip(V, V_old - value_clip, V_old + value_clip) - R)^2 / 2

    `kl` is the estimator (ratio - 1) - log(ratio) of KL(old, new), `clipped` the count of ratios
    outside the clip range. Source: arXiv:1707.06347, eq. 7; http://joschu.net/blog/kl-approx.html;
    Huang et al. 2022, "The 37 implementation details of PPO", detail 9.
    """
    outputs = policy.outputs(batch.obs)
    log_probs, entropy = policy.distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratios = log_probs - batch.log_probs
    ratios = log_ratios.exp()
    clipped_ratios = ratios.clamp(1 - clip_coef, 1 + clip_coef)
    objective = torch.minimum(ratios * batch.advantages, clipped_ratios * batch.advantages)
    values = policy.values(batch.obs)
    squares = (values - batch.returns).square()
    if value_clip:
        moves = (values - batch.values).clamp(-value_clip, value_clip)
        squares = torch.maximum(squares, (batch.values + moves - batch.returns).square())
    with torch.no_grad():
        kl = ((ratios - 1) - log_ratios).sum()
        clipped = ((ratios - 1).abs() > clip_coef).sum(dtype=torch.float32)
    return LossSums(-objective.sum(), 0.5 * squares.sum(), entropy.sum(), kl, clipped)


def normalized(advantages: Tensor) -> Tensor:
    """Mean 0 and deviation 1; a single sample is left as it is."""
    if advantages.numel() < 2:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + EPSILON)


@dataclass
class Coefficients:
    """What the schedules give for one iteration: numbers, or scalar tensors."""

    learning_rate: Any
    clip_coef: Any
    entropy_coef: Any

    @classmethod
    def at(cls, config: PPOConfig, progress_fraction: Any) -> Coefficients:
        return cls(
            scheduled(config.learning_rate, config.learning_rate_schedule, progress_fraction),
            scheduled(config.clip_coef, config.clip_schedule, progress_fraction),
            scheduled(config.entropy_coef, config.entropy_schedule, progress_fraction),
        )


class PPO:
    """Learns from rollouts with PyTorch: epochs of minibatches, and an optimizer step for each."""

    def __init__(
        self,
        policy: ActorCritic,
        config: PPOConfig,
        seed: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """`tick` is called after every step of the optimizer."""
        self._policy, self._config, self._tick = policy, config, tick
        self._parameters = policy.parameters_to_learn()
        self.optimizer = Adam(policy.flat_parameters)
        self._seed, self._generator = seed, torch.Generator().manual_seed(seed)
        self._num_orders = 0  # of samples, drawn at most

    @property
    def num_steps(self) -> int:
        """Steps of the optimizer since the start."""
        return self.optimizer.num_steps

    def update(
        self, rollout: Rollout, rewards: Tensor, progress_fraction: float
    ) -> dict[str, float]:
        """Learn from `rollout` with `rewards` [T, N], normalised or not; returns the metrics."""
        config = self._config
        coefficients = Coefficients.at(config, progress_fraction)
        advantages, returns = self.estimates(rollout, rewards)
        tensors = (
            rollout.obs[:-1], rollout.actions, rollout.log_probs, advantages, returns,
            rollout.values,
        )  # fmt: skip
        batch = Batch(*map(rollout.valid_of, tensors))
        if config.normalize_advantages == "rollout":
            batch = batch._replace(advantages=normalized(batch.advantages))
        losses, norms = self._epochs(batch, coefficients)
        return update_metrics(
            losses.mean(0), norms.mean(), batch.values, batch.returns, coefficients
        )

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N]."""
        return gae(
            rewards, rollout.values, rollout.next_values, rollout.terminated, rollout.truncated,
            self._config.gamma, self._config.gae_lambda,
        )  # fmt: skip

    def _epochs(self, batch: Batch, coefficients: Coefficients) -> tuple[Tensor, Tensor]:
        """Returns mean losses [steps, 5] and gradient norms [steps, 2] of all optimizer steps."""
        config = self._config
        self._num_orders += config.num_epochs
        losses, norms = [], []
        for minibatches in minibatch_orders(len(batch.obs), config, self._generator):
            for index in minibatches:
                sums, norm = self._learn(batch.at(index), coefficients)
                losses.append(sums / len(index))
                norms.append(norm)
                self._tick()
            epoch_kl = torch.stack(losses[-len(minibatches) :])[:, KL].mean()
            if config.target_kl and epoch_kl > config.target_kl:
                break
        return torch.stack(losses), torch.stack(norms)

    def _learn(self, minibatch: Batch, coefficients: Coefficients) -> tuple[Tensor, Tensor]:
        """One optimizer step; returns loss sums [5] and gradient norms of actor and critic."""
        if self._config.normalize_advantages == "minibatch":
            minibatch = minibatch._replace(advantages=normalized(minibatch.advantages))
        sums = ppo_loss_sums(
            self._policy, minibatch, coefficients.clip_coef, self._config.value_clip
        )
        loss = (
            sums.policy
            + self._config.value_coef * sums.value
            - coefficients.entropy_coef * sums.entropy
        ) / len(minibatch.obs)
        gradients = torch.autograd.grad(loss, self._parameters)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        # Each network by itself: they share no layers, and a large value loss would otherwise
        # shrink the actor's steps.
        num_actor = self._policy.num_actor_parameters
        norms = [
            scaled_down(part, self._config.max_grad_norm)
            for part in (flat[:num_actor], flat[num_actor:])
        ]
        self.optimizer.step(flat, coefficients.learning_rate)
        self._policy.limit_log_std()
        return torch.stack(sums).detach(), torch.stack(norms)

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, here or on a GPU."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "generator": self._generator.get_state(),
            "num_orders": self._num_orders,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self._num_orders = state.get("num_orders", 0)
        set_generator(self._generator, state, self._seed, self._num_orders)


def minibatch_orders(
    num_samples: int, config: PPOConfig, generator: torch.Generator
) -> Iterator[Tensor]:
    """A random order of the samples for every epoch, as equal minibatches [minibatches, size].

    Where dead transitions leave a number that does not divide, an epoch goes without the rest.
    """
    num_minibatches = min(config.num_minibatches, num_samples)
    used = num_samples - num_samples % num_minibatches
    for _ in range(config.num_epochs):
        yield torch.randperm(num_samples, generator=generator)[:used].view(num_minibatches, -1)


def scaled_down(gradients: Tensor, max_norm: float) -> Tensor:
    """Scale `gradients` in place to norm `max_norm` where theirs is larger; returns what it was."""
    norm: Tensor = gradients.norm()
    gradients.mul_((max_norm / (norm + EPSILON)).clamp(max=1.0))
    return norm


def update_metrics(
    mean_losses: Tensor,
    grad_norm: Tensor,
    values: Tensor,
    returns: Tensor,
    coefficients: Coefficients,
) -> dict[str, float]:
    """What is published of an update, from the mean loss terms [5]."""
    return {
        **dict(zip(LOSS_METRICS, mean_losses.tolist(), strict=True)),
        "value/explained_variance": explained_variance(returns, values),
        "optimizer/grad_norm": float(grad_norm),
        "optimizer/learning_rate": coefficients.learning_rate,
    }


def explained_variance(returns: Tensor, values: Tensor) -> float:
    """The fraction of the returns' variance that the values predict; NaN when they never vary."""
    variance = returns.var()
    return float(1 - (returns - values).var() / variance) if variance > 0 else math.nan
