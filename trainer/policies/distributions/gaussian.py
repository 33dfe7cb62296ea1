"""Real-valued actions from normal distributions, clipped at the bounds or squashed into them.

The deviation of each action is a parameter of the policy, the same for every observation.
Actions are drawn in units in which the environment's bounds are -1 and 1.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ...spaces import Box

MIN_LOG_STD, MAX_LOG_STD = -5.0, 2.0
HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)

# E[f(z)] of a standard normal z is the sum of weights * f(nodes). Equal steps, because functions of
# tanh that are narrow beside a wide distribution defeat Gauss-Hermite sums.
QUADRATURE_NODES = np.linspace(-5, 5, 32, dtype=np.float32)
QUADRATURE_WEIGHTS = np.exp(-0.5 * QUADRATURE_NODES**2) / np.exp(-0.5 * QUADRATURE_NODES**2).sum()


class Gaussian(nn.Module):
    """Independent normal distributions, from means and then the logarithms of their deviations.

    What is drawn beyond a bound counts as drawn, and the environment gets the bound. Where an
    action has no finite bounds it is drawn in the environment's own units.
    """

    action_dtype = torch.float32

    def __init__(self, actions: Box) -> None:
        super().__init__()
        self.action_shape: tuple[int, ...] = (actions.action_size,)
        self.num_log_stds = actions.action_size
        self.num_outputs = 2 * actions.action_size
        self.low: Tensor
        self.high: Tensor
        self.center: Tensor
        self.scale: Tensor
        low, high = torch.tensor(actions.low), torch.tensor(actions.high)
        bounded = low.isfinite() & high.isfinite()
        for name, value in (
            ("low", low),
            ("high", high),
            ("center", torch.where(bounded, (low + high) / 2, 0.0)),
            ("scale", torch.where(bounded, (high - low) / 2, 1.0)),
        ):
            self.register_buffer(name, value, persistent=False)

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        shape = (*shape, *self.action_shape)
        return torch.randn(shape, generator=generator, device=generator.device)

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        mean, log_std = mean_and_log_std(outputs)
        return mean + log_std.exp() * noise

    def mode(self, outputs: Tensor) -> Tensor:
        return mean_and_log_std(outputs)[0]

    def env_actions(self, actions: Tensor) -> Tensor:
        return torch.clamp(self.center + self.scale * actions, self.low, self.high)

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = mean_and_log_std(outputs)
        squares = ((actions - mean) * (-log_std).exp()).square()
        log_prob = (-0.5 * squares - log_std - HALF_LOG_2_PI).sum(-1)
        return log_prob, (log_std + 0.5 + HALF_LOG_2_PI).sum(-1)

    def kl(self, outputs: Tensor, others: Tensor) -> Tensor:
        (mean, log_std), (mean_2, log_std_2) = mean_and_log_std(outputs), mean_and_log_std(others)
        squares = (2 * (log_std - log_std_2)).exp() + ((mean - mean_2) / log_std_2.exp()).square()
        return (log_std_2 - log_std + 0.5 * (squares - 1)).sum(-1)


class SquashedGaussian(Gaussian):
    """tanh of independent normal distributions: no action is beyond its bounds.

    Actions are kept as they were before tanh, `u`; probabilities are of tanh(u), on [-1, 1]:

        log p(tanh(u)) = log N(u) - log(1 - tanh(u)^2)
        entropy        = entropy of N + E[log(1 - tanh(u)^2)]

    The expectation, which has no closed form, is a sum over 32 points. tanh is one to one, so the
    divergence is that of the normal distributions. Source: Haarnoja et al. 2018, arXiv:1812.05905,
    appendix C.
    """

    def __init__(self, actions: Box) -> None:
        super().__init__(actions)
        self.nodes: Tensor
        self.weights: Tensor
        for name, values in (("nodes", QUADRATURE_NODES), ("weights", QUADRATURE_WEIGHTS)):
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def env_actions(self, actions: Tensor) -> Tensor:
        return super().env_actions(actions.tanh())

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        log_prob, entropy = super().log_prob_and_entropy(outputs, actions)
        mean, log_std = mean_and_log_std(outputs)
        drawn = mean.unsqueeze(-1) + log_std.exp().unsqueeze(-1) * self.nodes
        narrowing = (log_one_minus_tanh_square(drawn) * self.weights).sum((-1, -2))
        return log_prob - log_one_minus_tanh_square(actions).sum(-1), entropy + narrowing


def mean_and_log_std(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Each [B, action_size] float32, the second within its limits."""
    mean, log_std = outputs.float().chunk(2, -1)
    return mean, log_std.clamp(MIN_LOG_STD, MAX_LOG_STD)


def log_one_minus_tanh_square(u: Tensor) -> Tensor:
    """log(1 - tanh(u)^2), right also where tanh(u) rounds to 1."""
    return 2 * (math.log(2) - u - softplus(-2 * u))
