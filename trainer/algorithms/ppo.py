"""Proximal policy optimisation. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..config import TrainConfig
from ..distributions.protocol import Distribution
from ..envs.spec import Spaces
from ..networks.actor_critic import ActorCritic
from ..networks.recurrent_actor_critic import RecurrentActorCritic
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

    @property
    def num_parts(self) -> int:
        """What minibatches are drawn from: samples."""
        return len(self.returns)

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
    distribution: Distribution,
    outputs: Tensor,
    values: Tensor,
    batch: Batch,
    clip_coef: Any,
    value_clip: float | None = None,
) -> LossSums:
    """The terms of the clipped objective, summed over the samples, from the `outputs` [B, O] and
    `values` [B] that the policy now has for them.

        policy = -min(ratio * A, clip(ratio, 1 - clip_coef, 1 + clip_coef) * A)
        value  = (V - R)^2 / 2, or with `value_clip` the larger of that and of
                 (clip(V, V_old - value_clip, V_old + value_clip) - R)^2 / 2

    `kl` is the estimator (ratio - 1) - log(ratio) of KL(old, new), `clipped` the count of ratios
    outside the clip range. Source: arXiv:1707.06347, eq. 7; http://joschu.net/blog/kl-approx.html;
    Huang et al. 2022, "The 37 implementation details of PPO", detail 9.
    """
    log_probs, entropy = distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratios = log_probs - batch.log_probs
    ratios = log_ratios.exp()
    clipped_ratios = ratios.clamp(1 - clip_coef, 1 + clip_coef)
    objective = torch.minimum(ratios * batch.advantages, clipped_ratios * batch.advantages)
    squares = (values - batch.returns).square()
    if value_clip:
        moves = (values - batch.values).clamp(-value_clip, value_clip)
        squares = torch.maximum(squares, (batch.values + moves - batch.returns).square())
    with torch.no_grad():
        kl = ((ratios - 1) - log_ratios).sum()
        clipped = ((ratios - 1).abs() > clip_coef).sum(dtype=torch.float32)
    return LossSums(-objective.sum(), 0.5 * squares.sum(), entropy.sum(), kl, clipped)


def normalized(advantages: Tensor, among: Tensor | None = None) -> Tensor:
    """Mean 0 and deviation 1, of the samples `among` where those are others; a single sample is
    left as it is.
    """
    among = advantages if among is None else among
    if among.numel() < 2:
        return advantages
    return (advantages - among.mean()) / (among.std() + EPSILON)


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

    policy: ActorCritic | RecurrentActorCritic

    @staticmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> Any:
        return ActorCritic(spec, config.policy, config.normalization.obs, seed)

    def update(self, rollout: Rollout, progress_fraction: Any) -> Metrics:
        if not rollout.has_values:
            self.evaluate(rollout)
        return super().update(rollout, progress_fraction)

    @torch.no_grad()
    def evaluate(self, rollout: Rollout) -> None:
        """Fill in the values of all states."""
        assert isinstance(self.policy, ActorCritic)
        values, next_values = rollout.values_by(self.policy.values)
        rollout.values.copy_(values)
        rollout.next_values.copy_(next_values)

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        coefficients = Coefficients.at(self.section, progress_fraction)
        advantages, returns = self.estimates(rollout, rewards)
        batch = self.batch_of(rollout, advantages, returns)
        losses, grad_norm = self._epochs(batch, coefficients)
        values, returns = map(rollout.valid_of, (rollout.values, returns))
        return update_metrics(losses, grad_norm, values, returns, coefficients)

    def batch_of(self, rollout: Rollout, advantages: Tensor, returns: Tensor) -> Any:
        """What minibatches are drawn from."""
        tensors = (
            rollout.obs[:-1], rollout.actions, rollout.log_probs, advantages, returns,
            rollout.values,
        )  # fmt: skip
        batch = Batch(*map(rollout.valid_of, tensors))
        if self.section.normalize_advantages == "rollout":
            batch = batch._replace(advantages=normalized(batch.advantages))
        return batch

    def judged(self, minibatch: Any) -> tuple[Tensor, Tensor, Batch]:
        """The outputs [B, O] and values [B] of the policy as it is, and the samples they are of."""
        assert isinstance(self.policy, ActorCritic)
        obs = minibatch.obs
        return self.policy.outputs(obs), self.policy.values(obs), minibatch

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N]."""
        return gae(
            rewards, rollout.values, rollout.next_values, rollout.terminated, rollout.truncated,
            self.section.gamma, self.section.gae_lambda,
        )  # fmt: skip

    def _epochs(self, batch: Any, coefficients: Coefficients) -> tuple[Tensor, Tensor]:
        """Returns mean loss terms [5] and the mean gradient norm of all steps taken, float64."""
        section = self.section
        device = self.policy.flat_parameters.device
        active = torch.ones((), dtype=torch.float64, device=device)
        sums = active.new_zeros(len(LOSS_METRICS))
        norms, num_samples = active.new_zeros(()), active.new_zeros(())
        num_steps = active.new_zeros(())
        for _ in range(section.num_epochs):
            minibatches = next_minibatches(self.orders, batch.num_parts, section.num_minibatches)
            epoch_kl, epoch_size = active.new_zeros(()), 0
            for index in minibatches:
                minibatch_sums, norm, size = self._learn(batch.at(index), coefficients, active)
                sums += minibatch_sums * active
                epoch_kl += minibatch_sums[KL]
                epoch_size += size
                norms += norm * active
                num_samples += active * size
                num_steps += active
                self.tick()
            if section.target_kl:
                active = active * (epoch_kl <= section.target_kl * epoch_size)
                if self.is_inline and not active:
                    break
        return sums / num_samples, norms / num_steps

    def _learn(
        self, minibatch: Any, coefficients: Coefficients, active: Tensor
    ) -> tuple[Tensor, Tensor, int]:
        """One optimizer step; returns loss sums [5] and the mean gradient norm, float64, and the
        number of samples.
        """
        section = self.section
        outputs, values, samples = self.judged(minibatch)
        if section.normalize_advantages == "minibatch":
            samples = samples._replace(advantages=normalized(samples.advantages))
        sums = ppo_loss_sums(
            self.policy.distribution, outputs, values, samples, coefficients.clip_coef,
            section.value_clip,
        )  # fmt: skip
        loss = (
            sums.policy + section.value_coef * sums.value - coefficients.entropy_coef * sums.entropy
        ) / len(samples.returns)
        gradient = self.flat_gradient(loss)
        # Each network by itself, where they share no layers: a large value loss would otherwise
        # shrink the actor's steps.
        parts = self.policy.networks_of(gradient)
        norms = [scaled_down(part, section.max_grad_norm) for part in parts]
        skippable = active if section.target_kl else None
        self.optimizer.step(gradient, coefficients.learning_rate, skippable)
        self.policy.limit_log_std()
        mean_norm = torch.stack(norms).mean().double()
        return torch.stack(sums).detach().double(), mean_norm, len(samples.returns)


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
