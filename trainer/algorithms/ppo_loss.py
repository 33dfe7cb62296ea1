"""The loss of PPO. Source: Schulman et al. 2017, arXiv:1707.06347."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..machine.values import Scalar
from ..policies.distributions.protocol import Distribution
from .minibatches import Batch

# What becomes of the fields of `LossSums`, in their order.
LOSS_METRICS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


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
    clip_coef: Scalar,
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
    limits: Any = (1 - clip_coef, 1 + clip_coef)
    clipped_ratios = ratios.clamp(*limits)
    objective = torch.minimum(ratios * batch.advantages, clipped_ratios * batch.advantages)
    squares = (values - batch.returns).square()
    if value_clip:
        moves = (values - batch.values).clamp(-value_clip, value_clip)
        squares = torch.maximum(squares, (batch.values + moves - batch.returns).square())
    with torch.no_grad():
        kl = ((ratios - 1) - log_ratios).sum()
        clipped = ((ratios - 1).abs() > clip_coef).sum(dtype=torch.float32)
    return LossSums(-objective.sum(), 0.5 * squares.sum(), entropy.sum(), kl, clipped)
