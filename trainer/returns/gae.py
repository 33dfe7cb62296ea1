"""How much better than expected an action was."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Corrections(NamedTuple):
    """How far the policy has moved since the actions were taken: `ratios` [T, N] of their
    probabilities, now over then, of which no more than these count.
    """

    ratios: Tensor
    rho_clip: float = 1.0
    c_clip: float = 1.0


def policy_advantages(
    advantages: Tensor,
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Advantages [T, N] of the actions taken, from `advantages` that `gae` corrected: what follows
    is as it would be without others having acted, and the step itself is left as it was.

        r_t + gamma * V(s_t+1) * (1 - terminated_t) - V(s_t) + gamma * lambda * (1 - done_t) A_t+1

    Times rho_t they are what V-trace's policy gradient has. Who normalises advantages multiplies
    afterwards: what is subtracted has no bias only where it is weighted as well.
    Source: Espeholt et al. 2018, arXiv:1802.01561, section 4.2.
    """
    deltas = rewards + gamma * next_values.masked_fill(terminated, 0.0) - values
    decays = gamma * gae_lambda * (~(terminated | truncated)).to(rewards.dtype)
    following = torch.cat([advantages[1:], torch.zeros_like(advantages[:1])])
    return deltas + decays * following


def gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
    corrections: Corrections | None = None,
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimates of one rollout, and the returns they imply.

        delta_t = rho_t * (r_t + gamma * V(s_t+1) * (1 - terminated_t) - V(s_t))
        A_t     = delta_t + gamma * lambda * c_t * A_t+1 * (1 - done_t)

    rho_t and c_t are 1, or with `corrections` min(ratio_t, rho_clip) and min(ratio_t, c_clip). With
    lambda = 1 the returns are then the targets v_s of V-trace, and A_t = v_s - V(s_t).

    Every tensor is [T, N]. `next_values` holds V of the state each step led to, even where the
    environment then reset itself: a time limit keeps that value, the end of the task drops it.

    Returns (advantages, returns), each [T, N], in reward units.
    Raises ValueError when the shapes differ.
    Source: Schulman et al. 2016, arXiv:1506.02438, eq. 16; Pardo et al. 2018, arXiv:1712.00378;
    Espeholt et al. 2018, arXiv:1802.01561, eq. 1.
    """
    inputs = [rewards, values, next_values, terminated, truncated]
    inputs += [corrections.ratios] if corrections else []
    shapes = {tuple(x.shape) for x in inputs}
    if len(shapes) > 1:
        raise ValueError(f"gae: shapes differ: {sorted(shapes)}")
    deltas = rewards + gamma * next_values.masked_fill(terminated, 0.0) - values
    decays = gamma * gae_lambda * (~(terminated | truncated)).to(rewards.dtype)
    if corrections:
        deltas = deltas * corrections.ratios.clamp(max=corrections.rho_clip)
        decays = decays * corrections.ratios.clamp(max=corrections.c_clip)
    advantages = torch.empty_like(deltas)
    following = torch.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        following = torch.addcmul(deltas[t], decays[t], following, out=advantages[t])
    return advantages, advantages + values
