"""Samples that PPO learns from, and its loss. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..distributions.protocol import Distribution

# What becomes of the fields of `LossSums`, in their order.
LOSS_METRICS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


class Batch(NamedTuple):
    """Samples to learn from; the first dimension of each is [B]. Where observations stay in main
    memory `obs` [B] are their places there, until those of a minibatch are put instead.
    """

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    told: Tensor | None = None  # what teachers say, where there are any
    policy_weights: Tensor | None = None  # in the policy's loss, where others acted as well

    @property
    def num_parts(self) -> int:
        """What minibatches are drawn from: samples."""
        return len(self.returns)

    @property
    def num_samples(self) -> int:
        return len(self.returns)

    def at(self, index: Tensor | slice) -> Batch:
        return self.each(lambda x: x[index])

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """With every tensor changed."""
        tensors: list[Any] = [x if x is None else change(x) for x in self]
        return Batch(*tensors)

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x [B, ...] that count: all of them."""
        return x

    def counted_advantages(self, index: Tensor) -> Tensor:
        """Those of the samples of these parts that count."""
        return self.advantages[index]

    @property
    def part_advantages(self) -> Tensor:
        """How large the advantages of each part are [B]."""
        return self.advantages.abs()

    def spread(self, weights: Tensor) -> Tensor:
        """What belongs to each sample, from weights [B] of the parts."""
        return weights

    def with_advantages(self, advantages: Tensor) -> Batch:
        return self._replace(advantages=advantages)

    def with_obs(self, obs: Tensor) -> Batch:
        return self._replace(obs=obs)

    def places_at(self, index: Tensor | slice) -> Tensor:
        """Where the observations of these samples are, of those in main memory."""
        return self.obs[index]


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
