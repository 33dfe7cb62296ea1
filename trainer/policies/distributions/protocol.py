"""What every distribution over actions can do."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Distribution(Protocol):
    """Turns the actor's outputs [B, num_outputs] into actions and their probabilities.

    Actions are kept as they were drawn, before clipping or squashing, so that their probability can
    be told exactly ever after: `env_actions` is what the environment is given. The last
    `num_log_stds` outputs are the same for every observation: parameters of the policy, not outputs
    of its network. Probabilities and entropies are float32 or better, whatever the outputs are.
    """

    num_outputs: int
    num_log_stds: int
    action_shape: tuple[int, ...]
    action_dtype: torch.dtype

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for actions of this leading shape, on the generator's device."""

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Actions [B, *action_shape]."""

    def mode(self, outputs: Tensor) -> Tensor:
        """The actions [B, *action_shape] of greedy evaluation: the likeliest, or the mean."""

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` as the environment takes them, within its bounds."""

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability of `actions`, and entropy of the distribution, each [B] in nats.

        Of real-valued actions that are mapped to an interval both are those on [-1, 1] or [0, 1]:
        the map to the environment's units would add the same number everywhere.
        """

    def kl(self, outputs: Tensor, others: Tensor) -> Tensor:
        """KL(outputs, others) [B], the divergence from one distribution to another, in nats."""
