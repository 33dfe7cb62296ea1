"""Advantages: how much better than expected an action was, and normalised; explained variance."""

from __future__ import annotations

import torch
from torch import Tensor


def gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimates of one rollout, and the returns they imply.

        delta_t = r_t + gamma * V(s_t+1) * (1 - terminated_t) - V(s_t)
        A_t     = delta_t + gamma * lambda * A_t+1 * (1 - done_t)

    Every tensor is [T, N]. `next_values` holds V of the state each step led to, even where the
    environment then reset itself: a time limit keeps that value, the end of the task drops it.

    Returns (advantages, returns), each [T, N], in reward units.
    Raises ValueError when the shapes differ.
    Source: Schulman et al. 2016, arXiv:1506.02438, eq. 16; Pardo et al. 2018, arXiv:1712.00378.
    """
    inputs = [rewards, values, next_values, terminated, truncated]
    shapes = {tuple(x.shape) for x in inputs}
    if len(shapes) > 1:
        raise ValueError(f"gae: shapes differ: {sorted(shapes)}")
    deltas = rewards + gamma * next_values.masked_fill(terminated, 0.0) - values
    decays = gamma * gae_lambda * (~(terminated | truncated)).to(rewards.dtype)
    advantages = torch.empty_like(deltas)
    following = torch.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        following = torch.addcmul(deltas[t], decays[t], following, out=advantages[t])
    return advantages, advantages + values


EPSILON = 1e-8


def normalized(advantages: Tensor, among: Tensor | None = None) -> Tensor:
    """Advantages minus the mean of `among`, divided by its standard deviation; by default `among`
    are the advantages themselves. Unchanged if `among` has fewer than two samples.
    """
    among = advantages if among is None else among
    if among.numel() < 2:
        return advantages
    return (advantages - among.mean()) / (among.std() + EPSILON)


def explained_variance(returns: Tensor, values: Tensor) -> Tensor:
    """The fraction of the returns' variance that the values predict; NaN when they never vary."""
    return explained(returns.var(), (returns - values).var())


def explained(variance: Tensor, left: Tensor) -> Tensor:
    """1 - left / variance; NaN if the variance is 0."""
    return torch.where(variance > 0, 1 - left / variance, torch.nan)
