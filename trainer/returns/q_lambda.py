"""Lambda returns from rewards and the values of greedy actions."""

from __future__ import annotations

import torch
from torch import Tensor


def q_lambda(
    rewards: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    lambda_: float,
) -> Tensor:
    """Lambda returns of one rollout for learning action values.

        R_t = r_t + gamma * (1 - terminated_t) * (lambda * R_t+1 + (1 - lambda) * max_a Q(s_t+1, a))

    After a time limit, and after the rollout's last step, R_t+1 is max_a Q(s_t+1, a).

    Every tensor is [T, N]. `next_values` holds max_a Q of the state each step led to, even where
    the environment then reset itself.

    Returns [T, N], in reward units. Raises ValueError when the shapes differ.
    Source: Gallici et al. 2024, arXiv:2407.04811, algorithm 1; Peng and Williams 1994,
    doi:10.1016/B978-1-55860-335-6.50035-0; Pardo et al. 2018, arXiv:1712.00378.
    """
    shapes = {tuple(x.shape) for x in (rewards, next_values, terminated, truncated)}
    if len(shapes) > 1:
        raise ValueError(f"q_lambda: shapes differ: {sorted(shapes)}")
    bootstrap = next_values.masked_fill(terminated, 0.0)
    one_step = rewards + gamma * bootstrap
    decays = gamma * lambda_ * (~(terminated | truncated)).to(rewards.dtype)
    returns = torch.empty_like(rewards)
    following = bootstrap[-1]
    for t in reversed(range(len(rewards))):
        # Of lambda * R_t+1 + (1 - lambda) * Q, what differs from Q.
        following = torch.addcmul(one_step[t], decays[t], following - bootstrap[t], out=returns[t])
    return returns
