"""Functions that take any real number to (-1, 1), what losses need of them in closed form, and the
squashed normal distributions whose deviations the network puts out as well.

Actor-critics that learn through the action use these distributions: the slopes of a drawn action
and of its log-probability are given in closed form.
"""

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


MIN_LOG_STD, MAX_LOG_STD = -20.0, 2.0
NORMAL_CONSTANT = 0.5 * math.log(2 * math.pi)


class Squashed(NamedTuple):
    """`actions` [B, A] = f(mean + std * noise), their `log_probs` [B] on [-1, 1] in nats, and what
    slopes need: `noise` and `std` [B, A], the network's `outputs` [B, 2 A], and f.
    """

    actions: Tensor
    log_probs: Tensor
    noise: Tensor
    std: Tensor
    outputs: Tensor
    squash: Squash


def squashed(outputs: Tensor, noise: Tensor, squash: Squash = TANH) -> Squashed:
    """Draw with `noise` [B, A], standard normal numbers, from `outputs` [B, 2 A]: means, and then
    logarithms of deviations.

        u = mean + std * noise,  a = f(u)
        log p(a) = log N(u; mean, std) - sum log da/du

    Source: Haarnoja et al. 2018, arXiv:1812.05905, appendix C.
    """
    mean, log_std = outputs.chunk(2, -1)
    log_std = log_std.clamp(MIN_LOG_STD, MAX_LOG_STD)
    std = log_std.exp()
    u = torch.addcmul(mean, std, noise)
    # -log p of every action but for its constant.
    surprise = squash.add_log_slope(torch.addcmul(log_std, noise, noise, value=0.5), u)
    constant = squash.constant + NORMAL_CONSTANT
    log_probs = torch.rsub(surprise.sum(-1), -constant * noise.shape[-1])
    return Squashed(squash.forward(u), log_probs, noise, std, outputs, squash)


def squashed_slopes(drawn: Squashed, by_actions: Tensor, by_log_probs: Tensor) -> Tensor:
    """The derivative of a loss by the outputs [B, 2 A], from those by the drawn actions [B, A] and
    by their log-probabilities [B], with the noise as it was.

        dlog p/du = -d log(da/du)/du,  du/dmean = 1,  du/dlog std = std * noise,
        dlog p/dlog std = -1 in addition
    """
    by_log_probs, squash = by_log_probs.unsqueeze(-1), drawn.squash
    by_mean = squash.backward(by_actions, drawn.actions)
    by_mean = by_mean.addcmul_(by_log_probs, squash.half_bend(drawn.actions), value=2)
    by_log_std = (by_mean * drawn.std).mul_(drawn.noise).sub_(by_log_probs)
    log_std = drawn.outputs.chunk(2, -1)[1]
    within = torch.ops.aten.hardtanh_backward(by_log_std, log_std, MIN_LOG_STD, MAX_LOG_STD)
    return torch.cat([by_mean, within], -1)
