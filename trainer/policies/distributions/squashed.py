"""Squashed normal distributions on (-1, 1), whose deviations the network puts out as well.

For actor-critics that learn through the action: the slopes of a drawn action and of its
log-probability are given in closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .squashing import TANH, Squash

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
        dlog p/dlog std = -1 besides
    """
    by_log_probs, squash = by_log_probs.unsqueeze(-1), drawn.squash
    by_mean = squash.backward(by_actions, drawn.actions)
    by_mean = by_mean.addcmul_(by_log_probs, squash.half_bend(drawn.actions), value=2)
    by_log_std = (by_mean * drawn.std).mul_(drawn.noise).sub_(by_log_probs)
    log_std = drawn.outputs.chunk(2, -1)[1]
    within = torch.ops.aten.hardtanh_backward(by_log_std, log_std, MIN_LOG_STD, MAX_LOG_STD)
    return torch.cat([by_mean, within], -1)
