"""Real-valued actions from Beta distributions, which have no mass beyond the bounds."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ...spaces import Box

MAX_OUTPUT = 1e4  # the narrowest has a deviation of 0.4 % of the range
EDGE = 1e-6  # samples keep this far from 0 and 1, where logarithms end
NUM_TRIES = 6  # each fails in less than 5 % of cases: all of them in 1 of 60 million
THIRD = 1 / 3


class Beta(nn.Module):
    """Independent Beta distributions with alpha, beta = 1 + softplus(outputs), alphas first.

    Both are at least 1, so the density has one peak and is finite. Actions are kept on (0, 1).
    Source: Chou, Maturana and Scherer 2017, "Improving stochastic policy gradients in continuous
    control with deep reinforcement learning using the Beta distribution", section 4.
    """

    action_dtype = torch.float32
    num_log_stds = 0

    def __init__(self, actions: Box) -> None:
        super().__init__()
        self.action_shape: tuple[int, ...] = (actions.action_size,)
        self.num_outputs = 2 * actions.action_size
        self.low: Tensor
        self.span: Tensor
        low, high = torch.tensor(actions.low), torch.tensor(actions.high)
        self.register_buffer("low", low, persistent=False)
        self.register_buffer("span", high - low, persistent=False)

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """[..., action_size, 2, NUM_TRIES, 2]: a normal and a uniform number for each try at both
        gamma variates of an action.
        """
        shape = (*shape, *self.action_shape, 2, NUM_TRIES)
        normal = torch.randn(shape, generator=generator, device=generator.device)
        uniform = torch.rand(shape, generator=generator, device=generator.device)
        return torch.stack([normal, uniform], -1)

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """x / (x + y) for gamma variates x and y of shapes alpha and beta."""
        shapes = torch.stack(alpha_and_beta(outputs), -1).float()
        x, y = gamma_variates(shapes, noise).unbind(-1)
        return (x / (x + y)).clamp(EDGE, 1 - EDGE)

    def mode(self, outputs: Tensor) -> Tensor:
        """The mean: the likeliest action is undefined where alpha and beta are 1."""
        alpha, beta = alpha_and_beta(outputs)
        return (alpha / (alpha + beta)).float()

    def env_actions(self, actions: Tensor) -> Tensor:
        return self.low + self.span * actions

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        alpha, beta = alpha_and_beta(outputs)
        x, total, log_b = actions.double(), alpha + beta, log_beta(alpha, beta)
        log_prob = (alpha - 1) * x.log() + (beta - 1) * (-x).log1p() - log_b
        entropy = (
            log_b
            - (alpha - 1) * alpha.digamma()
            - (beta - 1) * beta.digamma()
            + (total - 2) * total.digamma()
        )
        return log_prob.sum(-1).float(), entropy.sum(-1).float()

    def kl(self, outputs: Tensor, others: Tensor) -> Tensor:
        (alpha, beta), (alpha_2, beta_2) = alpha_and_beta(outputs), alpha_and_beta(others)
        return (
            (
                log_beta(alpha_2, beta_2)
                - log_beta(alpha, beta)
                + (alpha - alpha_2) * alpha.digamma()
                + (beta - beta_2) * beta.digamma()
                + (alpha_2 - alpha + beta_2 - beta) * (alpha + beta).digamma()
            )
            .sum(-1)
            .float()
        )


def alpha_and_beta(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Each [B, action_size], float64: float32 would lose what is left of lgamma's large terms."""
    alpha, beta = (1 + softplus(outputs.double().clamp(max=MAX_OUTPUT))).chunk(2, -1)
    return alpha, beta


def log_beta(alpha: Tensor, beta: Tensor) -> Tensor:
    """The logarithm of the Beta function."""
    return alpha.lgamma() + beta.lgamma() - (alpha + beta).lgamma()


def gamma_variates(shapes: Tensor, noise: Tensor) -> Tensor:
    """A gamma variate for each of `shapes` (at least 1), from its tries `noise` [..., tries, 2].

    The first try that is accepted counts, so that the work is the same for all. Source: Marsaglia
    and Tsang 2000, "A simple method for generating gamma variables".
    """
    normal, uniform = noise.unbind(-1)
    d = (shapes - THIRD).unsqueeze(-1)
    v = (1 + normal / (9 * d).sqrt()).pow(3)
    within = v > 0
    v = torch.where(within, v, 1.0)  # the peak, should no try be accepted
    accepted = within & (uniform.log() < 0.5 * normal.square() + d * (1 - v + v.log()))
    first = accepted.int().argmax(-1, keepdim=True)
    return (d * v).gather(-1, first).squeeze(-1)
