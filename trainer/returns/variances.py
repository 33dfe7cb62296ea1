"""What depends on how much advantages and returns vary."""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-8


def normalized(advantages: Tensor, among: Tensor | None = None) -> Tensor:
    """Mean 0 and deviation 1, of the samples `among` where those are others; a single sample is
    left as it is.
    """
    among = advantages if among is None else among
    if among.numel() < 2:
        return advantages
    return (advantages - among.mean()) / (among.std() + EPSILON)


def explained_variance(returns: Tensor, values: Tensor) -> Tensor:
    """The fraction of the returns' variance that the values predict; NaN when they never vary."""
    return explained(returns.var(), (returns - values).var())


def explained(variance: Tensor, left: Tensor) -> Tensor:
    """The fraction of a `variance` that is not `left`; NaN where it is 0."""
    return torch.where(variance > 0, 1 - left / variance, torch.nan)
