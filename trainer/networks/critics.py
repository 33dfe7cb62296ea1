"""Values of actions that are real numbers: several critics, computed as one network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .dense import DenseNetwork


class Critics(DenseNetwork):
    """Values Q_i(s, a) [copies, B] of observations [B, obs_size] and actions [B, action_size]."""

    def __init__(
        self,
        obs_size: int,
        action_size: int,
        hidden_sizes: Sequence[int],
        activation: str = "relu",
        num_copies: int = 2,
        *,
        seed: int,
    ) -> None:
        """Weights are drawn from `seed` alone."""
        sizes = (obs_size + action_size, *hidden_sizes, 1)
        generator = torch.Generator().manual_seed(seed)
        super().__init__(sizes, activation, num_copies, generator=generator)
        self.obs_size, self.action_size = obs_size, action_size

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:  # type: ignore[override]
        values = super().forward(torch.cat([obs, actions], -1)).squeeze(-1)
        return values if self.num_copies > 1 else values.unsqueeze(0)

    @torch.no_grad()
    def taped(self, *inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Values [copies, B] of `obs` and `actions`, and the inputs of all layers."""
        values, tape = super().taped(torch.cat(inputs, -1))
        return values.view(self.num_copies, -1), tape

    def gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        return super().gradient(tape, self._as_outputs(by_outputs))

    def action_gradient(self, tape: list[Tensor], by_values: Tensor) -> Tensor:
        """The derivative of a loss by the actions [B, action_size], from that by the values."""
        by_inputs = self.input_gradient(tape, self._as_outputs(by_values))
        return by_inputs[:, self.obs_size :]

    def _as_outputs(self, by_values: Tensor) -> Tensor:
        """From [copies, B] to the shape of the last layer's outputs."""
        return by_values.unsqueeze(-1) if self.num_copies > 1 else by_values.view(-1, 1)
