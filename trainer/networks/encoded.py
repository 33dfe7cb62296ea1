"""Networks that begin with an environment's encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .encoder import Encoder
from .mlp import ACTIVATIONS, init_default, make_mlp
from .network import Network
from .precision import in_precision


class EncodedNetwork(Network):
    """Observations [B, obs_size], through the encoder and layers, to outputs [B, num_outputs]."""

    def __init__(
        self, encoder: Encoder, hidden_sizes: Sequence[int], num_outputs: int, activation: str,
        seed: int,
    ) -> None:  # fmt: skip
        """Weights of the layers are drawn from `seed` alone; the encoder brings its own."""
        super().__init__()
        self.encoder = encoder
        sizes = (encoder.num_features, *hidden_sizes, num_outputs)
        self.layers = make_mlp(sizes, ACTIVATIONS[activation])
        init_default(self.layers, torch.Generator().manual_seed(seed))
        self.flatten()

    @in_precision
    def forward(self, obs: Tensor) -> Tensor:
        outputs: Tensor = self.layers(self.encoder(obs))
        return outputs


class ActionNetwork(Network):
    """A network of observations, actions and more, whose slopes by the actions can be had too."""

    def taped(self, *inputs: Tensor) -> tuple[Tensor, Any]:
        obs, actions, *others = inputs
        actions = actions.detach().requires_grad_()
        outputs, tape = super().taped(obs, actions, *others)
        return outputs, (tape, actions)

    def gradient(self, tape: Any, by_outputs: Tensor) -> Tensor:
        return super().gradient(tape[0], by_outputs)

    def action_gradient(self, tape: Any, by_outputs: Tensor) -> Tensor:
        """The derivative of a loss by the actions [B, A], from that by the outputs."""
        outputs, actions = tape
        (by_actions,) = torch.autograd.grad([outputs], [actions], [by_outputs])
        return by_actions


class EncodedCritics(ActionNetwork):
    """Values Q_i(s, a) [copies, B], each through an encoder of its own:

    features of s, and a beside them -> layers -> 1
    """

    def __init__(
        self, encoders: Sequence[Encoder], action_size: int, hidden_sizes: Sequence[int],
        activation: str, seed: int,
    ) -> None:  # fmt: skip
        """Weights of the layers are drawn from `seed` alone; encoders bring their own."""
        super().__init__()
        self.encoders, self.stacks = nn.ModuleList(), nn.ModuleList()
        for encoder in encoders:
            assert isinstance(encoder, nn.Module)
            self.encoders.append(encoder)
            sizes = (encoder.num_features + action_size, *hidden_sizes, 1)
            self.stacks.append(make_mlp(sizes, ACTIVATIONS[activation]))
        init_default(self.stacks, torch.Generator().manual_seed(seed))
        self.flatten()

    @in_precision
    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:
        pairs = zip(self.encoders, self.stacks, strict=True)
        values = [layers(torch.cat([encode(obs), actions], -1)) for encode, layers in pairs]
        return torch.cat(values, -1).mT
