"""Normalised advantages and explained variance."""

from __future__ import annotations

import torch
from torch import Tensor

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
