"""n-step targets for batches from a replay."""

from __future__ import annotations

import torch
from torch import Tensor


def td_target(returns: Tensor, discounts: Tensor, next_values: Tensor) -> Tensor:
    """Targets [B] of the values of the actions taken.

        y = R + d * V(s')    R = r_0 + gamma r_1 + ... + gamma^(k-1) r_(k-1),  d = gamma^k

    `returns` [B] are R of the k steps that were really taken, `discounts` [B] are d, or 0 where the
    task ended: a time limit keeps the bootstrap. `next_values` [B] are those of the state after.

    Source: Sutton and Barto 2018, "Reinforcement learning", eq. 7.1; Pardo et al. 2018,
    arXiv:1712.00378.
    """
    return torch.addcmul(returns, discounts, next_values)


def soft_value(values: Tensor, log_probs: Tensor, alpha: Tensor | float) -> Tensor:
    """V(s) = min_i Q_i(s, a) - alpha * log pi(a | s) [B], of an action drawn from the policy.

    `values` [critics, B], `log_probs` [B] in nats, `alpha` a number or a scalar tensor.
    Source: Haarnoja et al. 2018, arXiv:1812.05905, eq. 3; the smaller of two critics: Fujimoto et
    al. 2018, arXiv:1802.09477, eq. 10.
    """
    return values.amin(0) - alpha * log_probs
