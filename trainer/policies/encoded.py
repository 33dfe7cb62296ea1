"""Networks that begin with an environment's encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .encoder import Encoder, is_shared
from .mlp import ACTIVATIONS, in_precision, init_default, make_mlp
from .network import Network


class EncodedNetwork(Network):
    """Observations [B, obs_size], through the encoder and layers, to outputs [B, num_outputs]."""

    def __init__(
        self,
        encoder: Encoder,
        hidden_sizes: Sequence[int],
        num_outputs: int,
        activation: str,
        seed: int,
    ) -> None:
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


class StateAndAction(nn.Module):
    """Features [..., F] of states and actions [..., A] to [..., size]: the product of a layer on
    each.
    """

    def __init__(
        self, num_features: int, action_size: int, size: int, activation: type[nn.Module]
    ) -> None:
        super().__init__()
        self.state = nn.Linear(num_features, size)
        self.action = nn.Linear(action_size, size)
        self.activation = activation()

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        of_state: Tensor = self.activation(self.state(features))
        of_action: Tensor = self.activation(self.action(actions))
        return of_state * of_action


class Concatenated(nn.Module):
    """Features [..., F] of states and actions [..., A], side by side: [..., F + A]."""

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        return torch.cat([features, actions], -1)


class EncodedCritics(ActionNetwork):
    """Values Q_i(s, a) [copies, B]. Each critic has its own of an environment's encoders:

        features of s -> linear, activation -> times features of a -> layers -> num_outputs

    Other encoders are shared: (features of s, a) -> layers -> num_outputs, as in
    Stable-Baselines3. With several outputs they are [copies, B, num_outputs].

    Source: MarineNav's agents, Lin et al. 2024, arXiv:2412.09466.
    """

    def __init__(
        self,
        encoders: Sequence[Encoder],
        action_size: int,
        hidden_sizes: Sequence[int],
        activation: str,
        seed: int,
        num_outputs: int = 1,
        num_copies: int = 1,
    ) -> None:
        """Weights of the layers are drawn from `seed` alone; encoders bring their own."""
        super().__init__()
        self.is_shared = is_shared(encoders[0])
        self.encoders, self.joins, self.stacks = (nn.ModuleList() for _ in range(3))
        kind = ACTIVATIONS[activation]
        for encoder in encoders:
            assert isinstance(encoder, nn.Module)
            self.encoders.append(encoder)
            if self.is_shared:
                sizes = (encoder.num_features + action_size, *hidden_sizes, num_outputs)
                self.joins.append(Concatenated())
                self.stacks.extend(make_mlp(sizes, kind) for _ in range(num_copies))
                continue
            first = hidden_sizes[0]
            self.joins.append(StateAndAction(encoder.num_features, action_size, first, kind))
            self.stacks.append(make_mlp((*hidden_sizes, num_outputs), kind))
        generator = torch.Generator().manual_seed(seed)
        for modules in (self.joins, self.stacks):
            init_default(modules, generator)
        self.flatten()

    @in_precision
    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:
        pairs = zip(self.encoders, self.joins, strict=True)
        joined = [join(encode(obs), actions) for encode, join in pairs]
        joined = joined * len(self.stacks) if self.is_shared else joined
        outputs = torch.stack([layers(x) for layers, x in zip(self.stacks, joined, strict=True)])
        return outputs.squeeze(-1) if outputs.shape[-1] == 1 else outputs
