"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..networks.actor_critic import ActorCritic
from ..returns.gae import gae
from ..rollout import Rollout
from .algorithm import Metrics, scaled_down
from .minibatches import next_minibatches
from .on_policy import OnPolicy, explained_variance
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
    def at(cls, section: Any, progress_fraction: Any) -> Coefficients:
        return cls(
            scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction),
            scheduled(section.clip_coef, section.clip_schedule, progress_fraction),
            scheduled(section.entropy_coef, section.entropy_schedule, progress_fraction),
        )


class PPO(OnPolicy):
    """Epochs of minibatches over one rollout, and an optimizer step for each.

    Where `target_kl` ends an update early, the steps that remain are taken with nothing moved, so
    that every update is the same sequence of work; an inline one leaves them out.
    """

    policy: ActorCritic

    @staticmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> ActorCritic:
        return ActorCritic(spec, config.policy, config.normalization.obs, seed)

    def update(self, rollout: Rollout, progress_fraction: Any) -> Metrics:
        if not rollout.has_values:
            self.evaluate(rollout)
        return super().update(rollout, progress_fraction)

    @torch.no_grad()
    def evaluate(self, rollout: Rollout) -> None:
        """Fill in the values of all states."""
        values, next_values = rollout.values_by(self.policy.values)
        rollout.values.copy_(values)
        rollout.next_values.copy_(next_values)

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        coefficients = Coefficients.at(self.section, progress_fraction)
        advantages, returns = self.estimates(rollout, rewards)
        tensors = (
            rollout.obs[:-1], rollout.actions, rollout.log_probs, advantages, returns,
            rollout.values,
        )  # fmt: skip
        batch = Batch(*map(rollout.valid_of, tensors))
        if self.section.normalize_advantages == "rollout":
            batch = batch._replace(advantages=normalized(batch.advantages))
        losses, grad_norm = self._epochs(batch, coefficients)
        return update_metrics(losses, grad_norm, batch.values, batch.returns, coefficients)

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N]."""
        return gae(
            rewards, rollout.values, rollout.next_values, rollout.terminated, rollout.truncated,
            self.section.gamma, self.section.gae_lambda,
        )  # fmt: skip

    def _epochs(self, batch: Batch, coefficients: Coefficients) -> tuple[Tensor, Tensor]:
        """Returns mean loss terms [5] and the mean gradient norm of all steps taken, float64."""
        section = self.section
        active = batch.returns.new_ones((), dtype=torch.float64)
        sums = active.new_zeros(len(LOSS_METRICS))
        norms, num_samples = active.new_zeros(()), active.new_zeros(())
        num_steps = active.new_zeros(())
        for _ in range(section.num_epochs):
            minibatches = next_minibatches(self.orders, len(batch.obs), section.num_minibatches)
            epoch_kl = active.new_zeros(())
            for index in minibatches:
                minibatch_sums, norm = self._learn(batch.at(index), coefficients, active)
                sums += minibatch_sums * active
                epoch_kl += minibatch_sums[KL]
                norms += norm * active
                num_samples += active * len(index)
                num_steps += active
                self.tick()
            if section.target_kl:
                active = active * (epoch_kl <= section.target_kl * minibatches.numel())
                if self.is_inline and not active:
                    break
        return sums / num_samples, norms / num_steps

    def _learn(
        self, minibatch: Batch, coefficients: Coefficients, active: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One optimizer step; returns loss sums [5] and the mean gradient norm, float64."""
        section = self.section
        if section.normalize_advantages == "minibatch":
            minibatch = minibatch._replace(advantages=normalized(minibatch.advantages))
        sums = ppo_loss_sums(self.policy, minibatch, coefficients.clip_coef, section.value_clip)
        loss = (
            sums.policy + section.value_coef * sums.value - coefficients.entropy_coef * sums.entropy
        ) / len(minibatch.obs)
        gradient = self.flat_gradient(loss)
        # Each network by itself: they share no layers, and a large value loss would otherwise
        # shrink the actor's steps.
        num_actor = self.policy.num_actor_parameters
        norms = [
            scaled_down(part, section.max_grad_norm)
            for part in (gradient[:num_actor], gradient[num_actor:])
        ]
        skippable = active if section.target_kl else None
        self.optimizer.step(gradient, coefficients.learning_rate, skippable)
        self.policy.limit_log_std()
        return torch.stack(sums).detach().double(), torch.stack(norms).mean().double()


def update_metrics(
    mean_losses: Tensor,
    grad_norm: Any,
    values: Tensor,
    returns: Tensor,
    coefficients: Coefficients,
) -> Metrics:
    """What is published of an update, from the mean loss terms [5]."""
    return {
        **dict(zip(LOSS_METRICS, mean_losses.unbind(), strict=True)),
        "value/explained_variance": explained_variance(returns, values),
        "optimizer/grad_norm": grad_norm,
        "optimizer/learning_rate": coefficients.learning_rate,
    }
