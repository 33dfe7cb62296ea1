"""Functions that take any real number to (-1, 1), and what losses need of them in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus


class Squash(NamedTuple):
    """a = f(u).

    `forward` is f; `backward(slope, a)` multiplies a slope by da/du.
    log da/du is `constant` and what `add_log_slope(into, u)` adds in place, right also where f(u)
    rounds to 1; `half_bend(a)` is minus half its derivative by u.
    """

    forward: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor], Tensor]
    constant: float
    add_log_slope: Callable[[Tensor, Tensor], Tensor]
    half_bend: Callable[[Tensor], Tensor]


def _add_log_slope_of_tanh(into: Tensor, u: Tensor) -> Tensor:
    """log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u)) but for its constant.

    Source: Haarnoja et al. 2018, arXiv:1812.05905, appendix C.
    """
    # softplus with beta = -2 is -softplus(-2 u) / 2.
    return into.add_(u, alpha=-2).add_(softplus(u, beta=-2), alpha=4)


TANH = Squash(
    forward=torch.tanh,
    backward=torch.ops.aten.tanh_backward,
    constant=2 * math.log(2),
    add_log_slope=_add_log_slope_of_tanh,
    half_bend=lambda a: a,
)

# a = (2 / pi) atan u, so u = tan(pi a / 2) and da/du = (2 / pi) / (1 + u^2).
ARCTAN = Squash(
    forward=lambda u: u.atan() * (2 / math.pi),
    backward=lambda slope, a: slope * (a * (math.pi / 2)).cos_().square_().mul_(2 / math.pi),
    constant=math.log(2 / math.pi),
    add_log_slope=lambda into, u: into.sub_(u.square().log1p_()),
    half_bend=lambda a: (a * math.pi).sin_().mul_(0.5),  # u / (1 + u^2)
)

SQUASHES = {"tanh": TANH, "arctan": ARCTAN}
