"""Distributions over actions, as functions of what the actor puts out.

Each draws with noise it is given, so that who holds the random numbers decides what is repeatable.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from .envs.spec import Discrete


class Distribution(Protocol):
    """Turns the actor's outputs [B, num_outputs] into actions and their probabilities."""

    num_outputs: int
    action_dtype: torch.dtype

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for actions of this leading shape."""

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Actions [B]."""

    def mode(self, outputs: Tensor) -> Tensor:
        """The likeliest actions [B], for greedy evaluation."""

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability of `actions`, and entropy of the distribution, each [B] in nats."""


class Categorical:
    """One of `n` actions, from unnormalised log-probabilities."""

    action_dtype = torch.int64

    def __init__(self, actions: Discrete) -> None:
        self.num_outputs = actions.n

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=generator)

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """The inverse of the cumulative distribution at `noise` [B], uniform in [0, 1)."""
        cumulative = outputs.softmax(-1).cumsum(-1)
        # Rounding can leave the last sum below 1: the last action takes what remains.
        return (noise.unsqueeze(-1) >= cumulative[..., :-1]).sum(-1)

    def mode(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(-1)

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        log_probs = outputs.log_softmax(-1)
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1), entropy


def make_distribution(actions: Discrete) -> Distribution:
    """The distribution that suits an action space."""
    return Categorical(actions)
