"""Losses per sample and their slopes, the derivatives by the network's outputs.

With slopes no loss needs automatic differentiation: only the network's own derivative remains.
Weights of samples multiply both.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Loss(NamedTuple):
    """`values` [...] are the samples' losses, `slopes` their derivatives by the network's outputs,
    in the outputs' shape.
    """

    values: Tensor
    slopes: Tensor


def squared(errors: Tensor) -> Loss:
    """loss = e^2 / 2, slope = e; of errors e = output - target of any shape."""
    return Loss(0.5 * errors.square(), errors)


def huber(errors: Tensor) -> Loss:
    """Squared near zero, linear beyond; of errors e = output - target of any shape.

        loss  = e^2 / 2 where |e| <= 1, else |e| - 1 / 2
        slope = clip(e, -1, 1)

    Source: Huber 1964, doi:10.1214/aoms/1177703732; Mnih et al. 2015, doi:10.1038/nature14236.
    """
    slopes = errors.clamp(-1, 1)
    # slope * (e - slope / 2) is e^2 / 2 within the clip, and linear beyond.
    return Loss(slopes * torch.sub(errors, slopes, alpha=0.5), slopes)


LOSSES = {"squared": squared, "huber": huber}


def smallest(values: Tensor) -> Loss:
    """The smallest of several estimates [n, B]: itself [B], and its slopes [n, B], which are 1 at
    the smallest and 0 elsewhere.
    """
    found = values.min(0, keepdim=True)
    slopes = torch.zeros_like(values).scatter_(0, found.indices, 1.0)
    return Loss(found.values.squeeze(0), slopes)
