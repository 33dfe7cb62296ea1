"""Values of actions that are real numbers: several critics, computed as one network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .dense import DenseNetwork


class Critics(DenseNetwork):
    """Values Q_i(s, a) [copies, B] of observations [B, obs_size] and actions [B, action_size].

    With several outputs, as quantiles of the return, they are [copies, B, num_outputs].
    """

    def __init__(
        self,
        obs_size: int,
        action_size: int,
        hidden_sizes: Sequence[int],
        activation: str = "relu",
        num_copies: int = 2,
        num_outputs: int = 1,
        *,
        seed: int,
    ) -> None:
        """Weights are drawn from `seed` alone."""
        sizes = (obs_size + action_size, *hidden_sizes, num_outputs)
        generator = torch.Generator().manual_seed(seed)
        super().__init__(sizes, activation, num_copies, generator=generator)
        self.obs_size, self.action_size = obs_size, action_size

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:  # type: ignore[override]
        outputs = super().forward(torch.cat([obs, actions], -1))
        outputs = outputs if self.num_copies > 1 else outputs.unsqueeze(0)
        return outputs.squeeze(-1) if self.sizes[-1] == 1 else outputs

    @torch.no_grad()
    def taped(self, *inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs for `obs` and `actions`, and the inputs of all layers."""
        outputs, tape = super().taped(torch.cat(inputs, -1))
        outputs = outputs if self.num_copies > 1 else outputs.unsqueeze(0)
        return outputs.squeeze(-1) if self.sizes[-1] == 1 else outputs, tape

    def gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        return super().gradient(tape, self._as_outputs(by_outputs))

    def action_gradient(self, tape: list[Tensor], by_outputs: Tensor) -> Tensor:
        """The derivative of a loss by the actions [B, action_size], from that by the outputs."""
        by_inputs = self.input_gradient(tape, self._as_outputs(by_outputs))
        return by_inputs[:, self.obs_size :]

    def _as_outputs(self, by_outputs: Tensor) -> Tensor:
        """The same in the shape of the last layer's outputs: [copies, B, num_outputs], or without
        the first of a single copy.
        """
        by_outputs = by_outputs.unsqueeze(-1) if self.sizes[-1] == 1 else by_outputs
        return by_outputs if self.num_copies > 1 else by_outputs.squeeze(0)
