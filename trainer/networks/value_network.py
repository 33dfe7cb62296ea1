"""Networks from observations to the values of all actions, or to the distributions of those."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..config import PolicyConfig
from .dense import DenseNetwork
from .dueling import Dueling
from .heads import Head, PlainHead
from .mlp import ACTIVATIONS, init_default, init_orthogonal, make_mlp
from .network import Network
from .noisy import NoisyLinear


class Encoder(Protocol):
    """What an environment can bring before the layers that learn from its observations: a module
    from [B, obs_size] to [B, num_features].
    """

    num_features: int

    def __call__(self, obs: Tensor) -> Tensor: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


class ValueNetwork(Network):
    """Observations [B, obs_size], through an encoder and layers, to what a head makes values of.

    Where the layers are plain linear ones without an encoder, they are differentiated by hand.
    """

    def __init__(self, layers: nn.Module, head: Head, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.encoder = encoder if encoder is not None else nn.Identity()
        self.layers, self.head = layers, head
        self._dense = layers if encoder is None and isinstance(layers, DenseNetwork) else None
        self.noisy_layers = [layer for layer in self.modules() if isinstance(layer, NoisyLinear)]
        self.flatten()

    def flatten(self) -> None:
        dense = self._dense
        if dense is None:
            super().flatten()
        else:
            dense.flatten()
            self.flat_parameters = dense.flat_parameters

    def parameters_to_learn(self) -> list[nn.Parameter]:
        dense = self._dense
        return super().parameters_to_learn() if dense is None else dense.parameters_to_learn()

    def forward(self, obs: Tensor) -> Tensor:
        """What the head takes [B, num_actions * atoms]."""
        outputs: Tensor = self.layers(self.encoder(obs))
        return outputs

    def values(self, obs: Tensor) -> Tensor:
        """Expected returns of all actions [B, num_actions]."""
        return self.head.values(self(obs))

    def taped(self, *inputs: Tensor) -> tuple[Tensor, Any]:
        return super().taped(*inputs) if self._dense is None else self._dense.taped(*inputs)

    def gradient(self, tape: Any, by_outputs: Tensor) -> Tensor:
        if self._dense is None:
            return super().gradient(tape, by_outputs)
        return self._dense.gradient(tape, by_outputs)

    def resample_noise(self, generator: torch.Generator | None = None) -> None:
        """Draw the noise of noisy layers anew; nothing where there are none."""
        for layer in self.noisy_layers:
            layer.resample_noise(generator)

    @contextlib.contextmanager
    def without_noise(self) -> Iterator[None]:
        """Noisy layers are those of their means meanwhile."""
        before = [layer.is_noisy for layer in self.noisy_layers]
        for layer in self.noisy_layers:
            layer.is_noisy = False
        try:
            yield
        finally:
            for layer, was_noisy in zip(self.noisy_layers, before, strict=True):
                layer.is_noisy = was_noisy


def make_value_network(
    obs_size: int,
    num_actions: int,
    config: PolicyConfig,
    seed: int,
    *,
    head: Head | None = None,
    dueling: bool = False,
    noisy_std: float | None = None,
    layer_norm: bool = False,
    encoder: Encoder | None = None,
) -> ValueNetwork:
    """The network of an algorithm that learns action values; `head` is one of plain values.

    With `dueling` the last of the hidden layers is there twice, once for each stream. With
    `noisy_std` all layers are noisy, of this deviation at first. First weights are torch's own for
    linear layers, drawn from `seed` alone; an encoder brings its own.
    """
    head = head or PlainHead()
    generator = torch.Generator().manual_seed(seed)
    inputs = encoder.num_features if encoder is not None else obs_size
    *shared, last = (inputs, *config.hidden_sizes)
    num_outputs = num_actions * head.num_atoms
    if not (dueling or layer_norm) and noisy_std is None:
        sizes = (*shared, last, num_outputs)
        return ValueNetwork(
            DenseNetwork(sizes, config.activation, generator=generator), head, encoder
        )

    def linear(inputs: int, outputs: int) -> nn.Module:
        if noisy_std is None:
            return nn.Linear(inputs, outputs)
        return NoisyLinear(inputs, outputs, noisy_std)

    def stack(*sizes: int, is_last: bool = True) -> nn.Sequential:
        activation = ACTIVATIONS[config.activation]
        return make_mlp(sizes, activation, layer_norm, linear=linear, is_last=is_last)

    layers: nn.Module
    if dueling:
        trunk = stack(*shared, is_last=False)
        sizes = (*shared[-1:], last)
        value, advantage = stack(*sizes, head.num_atoms), stack(*sizes, num_outputs)
        layers = Dueling(trunk, value, advantage, head.num_atoms)
    else:
        layers = stack(*shared, last, num_outputs)
    init_default(layers, generator)
    return ValueNetwork(layers, head, encoder)


def make_layer_norm_network(
    obs_size: int, num_actions: int, config: PolicyConfig, seed: int
) -> ValueNetwork:
    """Plain values from layers that are normalised before their activations, which bounds what
    values can drift to without a target network. First weights are orthogonal, and drawn from
    `seed` alone. Source: Gallici et al. 2024, arXiv:2407.04811, section 4.
    """
    sizes = (obs_size, *config.hidden_sizes, num_actions)
    layers = make_mlp(sizes, ACTIVATIONS[config.activation], layer_norm=True)
    init_orthogonal(layers, 1.0, torch.Generator().manual_seed(seed))
    return ValueNetwork(layers, PlainHead())
