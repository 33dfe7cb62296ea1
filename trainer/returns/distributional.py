"""Targets and losses of distributional value functions, for batches from a replay."""

from __future__ import annotations

import torch
from torch import Tensor

from .losses import Loss


def projected(
    returns: Tensor, discounts: Tensor, next_probs: Tensor, lowest: float, highest: float
) -> Tensor:
    """The distribution of R + d * Z(s') on the atoms [B, K] that Z itself has.

        b_j = clip((R + d * z_j - lowest) / step, 0, K - 1)
        m_i = sum_j p_j * max(0, 1 - |b_j - i|)

    The second line is the published one, with its rounding down and up: what lies between two atoms
    is shared by how near it is to each, and what lies on one is all its own. All probability stays.
    A sum over j without scattering is the same in every order, on every device.

    `returns` and `discounts` [B] are as for `td_target`, `next_probs` [B, K] those of Z(s').
    Source: Bellemare et al. 2017, arXiv:1707.06887, eq. 7 and algorithm 1.
    """
    num_atoms = next_probs.shape[-1]
    step = (highest - lowest) / (num_atoms - 1)
    places = torch.arange(num_atoms, dtype=returns.dtype, device=returns.device)
    # z_j = lowest + j * step, so b_j = (R - lowest) / step + d * (lowest / step + j)
    first = (returns - lowest) / step
    landing = torch.addcmul(
        first.unsqueeze(1), discounts.unsqueeze(1), places + lowest / step
    ).clamp_(0, num_atoms - 1)
    shares = landing.unsqueeze(1) - places.unsqueeze(1)
    shares = torch.rsub(shares.abs_(), 1.0).relu_()
    return torch.bmm(shares, next_probs.unsqueeze(2)).squeeze(2)


def cross_entropy(logits: Tensor, targets: Tensor) -> Loss:
    """-sum_i m_i log p_i [B] of logits [B, K] against probabilities [B, K], and its slopes [B, K].

    slope = p - m. Source: arXiv:1707.06887, algorithm 1.
    """
    log_probs = logits.log_softmax(-1)
    return Loss(-(targets * log_probs).sum(-1), log_probs.exp() - targets)


def quantile_huber(quantiles: Tensor, taus: Tensor, targets: Tensor) -> Loss:
    """Quantile Huber loss over all pairs of quantiles and targets.

        u_ij = target_j - quantile_i
        loss = sum_i mean_j |tau_i - 1{u_ij < 0}| * huber(u_ij)

    with `huber` as in `losses.huber`. `quantiles` [B, N] at the fractions `taus` [N] or [B, N],
    `targets` [B, M]. The loss is [B], the slopes by the quantiles [B, N].
    Source: Dabney et al. 2018, arXiv:1710.10044, eqs. 9 and 10; arXiv:1806.06923, eq. 3.
    """
    errors = targets.unsqueeze(-2) - quantiles.unsqueeze(-1)
    # The indicator has no slope of its own.
    weights = (taus.unsqueeze(-1) - (errors < 0).to(taus.dtype)).abs_()
    clipped = errors.clamp(-1, 1)
    weighted = weights * clipped
    losses = (weighted * torch.sub(errors, clipped, alpha=0.5)).mean(-1).sum(-1)
    return Loss(losses, weighted.mean(-1).neg_())


def truncated(quantiles: Tensor, num_dropped: int) -> Tensor:
    """The smallest quantiles of several critics [B, C * (M - num_dropped)], pooled and in order.

    `quantiles` [C, B, M] are M of each of C critics, of which C * `num_dropped` are dropped in all.
    Source: Kuznetsov et al. 2020, arXiv:2005.04269, section 3.
    """
    num_critics, batch_size, num_quantiles = quantiles.shape
    pooled = quantiles.transpose(0, 1).reshape(batch_size, -1).sort(-1).values
    return pooled[:, : num_critics * (num_quantiles - num_dropped)]
