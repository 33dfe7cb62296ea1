"""Networks from observations to the values of all actions, or to the distributions of those."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..settings.policy import PolicyConfig
from .dense import DenseNetwork
from .encoder import Encoder, has_weights
from .mlp import ACTIVATIONS, Linear, in_precision, init_default, init_orthogonal, make_mlp
from .network import Network
from .noisy import NoisyLinear


class Head(Protocol):
    """From outputs [B, num_actions * num_atoms] to what they say of each action."""

    num_atoms: int

    def values(self, outputs: Tensor) -> Tensor:
        """Expected returns [B, num_actions]."""


class PlainHead(nn.Module):
    """Outputs are the values."""

    num_atoms = 1

    def values(self, outputs: Tensor) -> Tensor:
        return outputs


class CategoricalHead(nn.Module):
    """Logits of the probabilities that the return is each of `num_atoms` numbers, evenly spaced
    from `lowest` to `highest`. Source: Bellemare et al. 2017, arXiv:1707.06887, section 4.
    """

    def __init__(self, lowest: float, highest: float, num_atoms: int = 51) -> None:
        super().__init__()
        self.lowest, self.highest, self.num_atoms = lowest, highest, num_atoms
        self.atoms: Tensor
        self.register_buffer("atoms", torch.linspace(lowest, highest, num_atoms), persistent=False)

    def logits(self, outputs: Tensor) -> Tensor:
        """[B, num_actions, num_atoms]."""
        return torch.unflatten(outputs, -1, (-1, self.num_atoms))

    def values(self, outputs: Tensor) -> Tensor:
        return self.logits(outputs).softmax(-1) @ self.atoms


class QuantileHead(nn.Module):
    """The return's quantiles at the middles of `num_atoms` equal parts.

    Source: Dabney et al. 2018, arXiv:1710.10044, section 3.
    """

    def __init__(self, num_atoms: int = 200) -> None:
        super().__init__()
        self.num_atoms = num_atoms
        self.taus: Tensor
        self.register_buffer("taus", middles(num_atoms), persistent=False)

    def quantiles(self, outputs: Tensor) -> Tensor:
        """[B, num_actions, num_atoms]."""
        return torch.unflatten(outputs, -1, (-1, self.num_atoms))

    def values(self, outputs: Tensor) -> Tensor:
        return self.quantiles(outputs).mean(-1)


def middles(num: int) -> Tensor:
    """(i + 1/2) / num [num], the middles of equal parts of [0, 1]."""
    return (torch.arange(num) + 0.5) / num


class Dueling(nn.Module):
    """Q(s, a) = V(s) + A(s, a) - mean_a A(s, a), each atom of a distribution by itself.

    `trunk` is what both streams share; outputs are [B, num_actions * num_atoms].
    Source: Wang et al. 2016, arXiv:1511.06581, eq. 9.
    """

    def __init__(
        self, trunk: nn.Module, value: nn.Module, advantage: nn.Module, num_atoms: int
    ) -> None:
        super().__init__()
        self.trunk, self.value, self.advantage = trunk, value, advantage
        self.num_atoms = num_atoms

    def forward(self, x: Tensor) -> Tensor:
        x = self.trunk(x)
        advantages = self.advantage(x).unflatten(-1, (-1, self.num_atoms))
        values = self.value(x).unsqueeze(-2) - advantages.mean(-2, keepdim=True)
        outputs: Tensor = (values + advantages).flatten(-2)
        return outputs


class ActionValues(Network):
    """A network that tells the values of all actions, whatever it learns of them."""

    @property
    def noisy_layers(self) -> list[NoisyLinear]:
        return [layer for layer in self.modules() if isinstance(layer, NoisyLinear)]

    def values(self, obs: Tensor) -> Tensor:
        """Expected returns of all actions [B, num_actions], from obs [B, obs_size]."""
        raise NotImplementedError

    def take_noise(self, normals: Tensor) -> None:
        """Have the noise of noisy layers made from standard normal numbers [`num_noise`]."""
        layers = self.noisy_layers
        parts = torch.split(normals, [layer.noise.numel() for layer in layers])
        for layer, part in zip(layers, parts, strict=True):
            layer.take_noise(part)

    @property
    def num_noise(self) -> int:
        """How many numbers the noise of noisy layers is made from."""
        return sum(layer.noise.numel() for layer in self.noisy_layers)

    @contextlib.contextmanager
    def with_noise_of_rows(self, noise: Tensor) -> Iterator[None]:
        """Every row has noise of its own meanwhile: [B, num_noise]."""
        layers = self.noisy_layers
        sizes = [layer.noise.numel() for layer in layers]
        for layer, part in zip(layers, torch.split(noise, sizes, -1), strict=True):
            layer.row_noise = part
        try:
            yield
        finally:
            for layer in layers:
                layer.row_noise = None

    @contextlib.contextmanager
    def without_noise(self) -> Iterator[None]:
        """Noisy layers are those of their means meanwhile."""
        layers = self.noisy_layers
        before = [layer.is_noisy for layer in layers]
        for layer in layers:
            layer.is_noisy = False
        try:
            yield
        finally:
            for layer, was_noisy in zip(layers, before, strict=True):
                layer.is_noisy = was_noisy


class ValueNetwork(ActionValues):
    """Observations [B, obs_size], through an encoder and layers, to what a head makes values of.

    Plain linear layers without an encoder are differentiated by hand.
    """

    def __init__(self, layers: nn.Module, head: Head, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.encoder = encoder if encoder is not None else nn.Identity()
        self.layers, self.head = layers, head
        self._is_dense = encoder is None and isinstance(layers, DenseNetwork)
        self.flatten()

    @property
    def _dense(self) -> DenseNetwork | None:
        return self.layers if self._is_dense else None  # type: ignore[return-value]

    @property
    def is_exact_with_threads(self) -> bool:  # type: ignore[override]
        return self._dense is not None

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

    @in_precision
    def forward(self, obs: Tensor) -> Tensor:
        """The head's inputs [B, num_actions * atoms]."""
        outputs: Tensor = self.layers(self.encoder(obs))
        return outputs

    def values(self, obs: Tensor) -> Tensor:
        return self.head.values(self(obs))

    def taped(self, *inputs: Tensor) -> tuple[Tensor, Any]:
        return super().taped(*inputs) if self._dense is None else self._dense.taped(*inputs)

    def gradient(self, tape: Any, by_outputs: Tensor) -> Tensor:
        if self._dense is None:
            return super().gradient(tape, by_outputs)
        return self._dense.gradient(tape, by_outputs)


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

    With `dueling` the last of the hidden layers is there twice, once for each stream; after an
    encoder, which the streams share already, all of them are. With
    `noisy_std` all layers are noisy, of this deviation at first. First weights are torch's own for
    linear layers, drawn from `seed` alone; an encoder brings its own.
    """
    head = head or PlainHead()
    generator = torch.Generator().manual_seed(seed)
    inputs = encoder.num_features if encoder is not None else obs_size
    sizes = (inputs, *config.hidden_sizes)
    if not (dueling or layer_norm) and noisy_std is None and encoder is None:
        sizes = (*sizes, num_actions * head.num_atoms)
        dense = DenseNetwork(sizes, config.activation, generator=generator)
        return ValueNetwork(dense, head)
    layers = value_layers(
        sizes,
        num_actions,
        head.num_atoms,
        config.activation,
        dueling=dueling,
        noisy_std=noisy_std,
        layer_norm=layer_norm,
        has_trunk=not has_weights(encoder),
    )
    init_default(layers, generator)
    return ValueNetwork(layers, head, encoder)


def value_layers(
    sizes: tuple[int, ...],
    num_actions: int,
    num_atoms: int,
    activation: str,
    *,
    dueling: bool,
    noisy_std: float | None,
    layer_norm: bool,
    has_trunk: bool = True,
) -> nn.Module:
    """Modules from [B, sizes[0]] to [B, num_actions * num_atoms], through layers of `sizes`. Unless
    there is a trunk, the streams of dueling ones share no layer.
    """
    num_outputs = num_actions * num_atoms

    def linear(inputs: int, outputs: int) -> nn.Module:
        if noisy_std is None:
            return Linear(inputs, outputs)
        return NoisyLinear(inputs, outputs, noisy_std)

    def stack(*sizes: int, is_last: bool = True) -> nn.Sequential:
        kind = ACTIVATIONS[activation]
        return make_mlp(sizes, kind, layer_norm, linear=linear, is_last=is_last)

    if not dueling:
        return stack(*sizes, num_outputs)
    if not has_trunk:
        shared, stream = sizes[:1], sizes
    else:
        shared, stream = (sizes[:-1], sizes[-2:]) if len(sizes) > 1 else (sizes, sizes)
    trunk = stack(*shared, is_last=False)
    return Dueling(trunk, stack(*stream, num_atoms), stack(*stream, num_outputs), num_atoms)


def make_layer_norm_network(
    obs_size: int, num_actions: int, config: PolicyConfig, seed: int, encoder: Encoder | None = None
) -> ValueNetwork:
    """Plain values from layers that are normalised before their activations, which bounds what
    values can drift to without a target network. First weights are orthogonal, and drawn from
    `seed` alone. Source: Gallici et al. 2024, arXiv:2407.04811, section 4.
    """
    inputs = encoder.num_features if encoder is not None else obs_size
    sizes = (inputs, *config.hidden_sizes, num_actions)
    layers = make_mlp(sizes, ACTIVATIONS[config.activation], layer_norm=True)
    init_orthogonal(layers, 1.0, torch.Generator().manual_seed(seed))
    return ValueNetwork(layers, PlainHead(), encoder)
