"""Quantiles of the return at any fraction that is asked for."""

from __future__ import annotations

import math
from typing import TypeVar

import torch
from torch import Tensor, nn

from ..settings.policy import PolicyConfig
from .encoded import ActionNetwork, StateAndAction
from .encoder import Encoder, begun_with, has_weights
from .mlp import ACTIVATIONS, in_precision, init_default, make_mlp
from .network import Network
from .value_network import ActionValues, middles, value_layers

NUM_COSINES = 64
NUM_ACTING = 32  # fractions that values are the mean over

N = TypeVar("N", bound=Network)


class CosineEmbedding(nn.Module):
    """Fractions [B, N] to features [B, N, F]: relu of a linear layer on cos(pi i tau), i from 0.

    Source: Dabney et al. 2018, arXiv:1806.06923, eq. 4.
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(NUM_COSINES, num_features)
        self.rates: Tensor
        self.register_buffer("rates", math.pi * torch.arange(NUM_COSINES), persistent=False)

    def forward(self, taus: Tensor) -> Tensor:
        features: Tensor = self.linear((taus.unsqueeze(-1) * self.rates).cos()).relu()
        return features


class ImplicitQuantiles(ActionValues):
    """Z(s, a; tau) [B, N, num_actions]: features of s times those of tau, and layers after.

    Values are means over `NUM_ACTING` fractions, evenly spaced below `risk`: with 1 over all of the
    return, with less over its lower part alone, CVaR. Source: arXiv:1806.06923, section 3.
    """

    def __init__(self, encoder: nn.Module, num_features: int, layers: nn.Module) -> None:
        super().__init__()
        self.encoder, self.layers = encoder, layers
        self.embedding = CosineEmbedding(num_features)
        self.risk: Tensor
        self.acting_taus: Tensor
        self.register_buffer("risk", torch.ones(()))
        self.register_buffer("acting_taus", middles(NUM_ACTING), persistent=False)

    @in_precision
    def forward(self, obs: Tensor, taus: Tensor) -> Tensor:
        """Quantiles [B, N, num_actions] of obs [B, D] at `taus` [B, N], or [1, N] for all."""
        features = self.encoder(obs).unsqueeze(1) * self.embedding(taus)
        quantiles: Tensor = self.layers(features.flatten(0, 1)).unflatten(0, (-1, taus.shape[-1]))
        return quantiles

    def values(self, obs: Tensor) -> Tensor:
        return self._means(obs, (self.acting_taus * self.risk).unsqueeze(0))

    def expected_values(self, obs: Tensor) -> Tensor:
        """Expected values over the whole distribution of returns, whatever the risk setting."""
        return self._means(obs, self.acting_taus.unsqueeze(0))

    def _means(self, obs: Tensor, taus: Tensor) -> Tensor:
        quantiles: Tensor = self(obs, taus)
        return quantiles.mean(1)


class QuantileCritic(ActionNetwork):
    """Z(s, a; tau) [B, N] of actions that are real numbers.

        features of s times those of tau -> linear, activation -> times features of a -> layers -> 1

    Source: MarineNav's AC-IQN, arXiv:2412.09466.
    """

    def __init__(
        self,
        encoder: nn.Module,
        num_features: int,
        action_size: int,
        hidden_sizes: tuple[int, ...],
        activation: type[nn.Module],
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.embedding = CosineEmbedding(num_features)
        self.join = StateAndAction(num_features, action_size, hidden_sizes[0], activation)
        self.layers = make_mlp((*hidden_sizes, 1), activation)

    @in_precision
    def forward(self, obs: Tensor, actions: Tensor, taus: Tensor) -> Tensor:
        """Quantiles [B, N] of obs [B, D] and actions [B, A] at `taus` [B, N]."""
        features = self.encoder(obs).unsqueeze(1) * self.embedding(taus)
        joined = self.join(features, actions.unsqueeze(1))
        quantiles: Tensor = self.layers(joined).squeeze(-1)
        return quantiles


def make_implicit_quantiles(
    obs_size: int,
    num_actions: int,
    config: PolicyConfig,
    seed: int,
    *,
    dueling: bool = False,
    noisy_std: float | None = None,
    layer_norm: bool = False,
    encoder: Encoder | None = None,
) -> ImplicitQuantiles:
    """Like `make_value_network`. Without an encoder the first hidden layer is the encoder."""
    module, sizes = encoder_and_sizes(obs_size, config, encoder)
    layers = value_layers(
        sizes,
        num_actions,
        1,
        config.activation,
        dueling=dueling,
        noisy_std=noisy_std,
        layer_norm=layer_norm,
        has_trunk=not has_weights(encoder),
    )
    network = ImplicitQuantiles(module, sizes[0], layers)
    return _with_first_weights(network, seed, encoder)


def make_quantile_critic(
    obs_size: int,
    action_size: int,
    config: PolicyConfig,
    seed: int,
    encoder: Encoder | None = None,
) -> QuantileCritic:
    """Weights are drawn from `seed` alone; without an encoder the first hidden layer is one."""
    module, sizes = encoder_and_sizes(obs_size, config, encoder)
    activation = ACTIVATIONS[config.activation]
    critic = QuantileCritic(module, sizes[0], action_size, sizes[1:] or sizes, activation)
    return _with_first_weights(critic, seed, encoder)


def encoder_and_sizes(
    obs_size: int, config: PolicyConfig, encoder: Encoder | None
) -> tuple[nn.Module, tuple[int, ...]]:
    """The encoder of observations, and the sizes of its features and of the layers after it."""
    if has_weights(encoder):
        assert isinstance(encoder, nn.Module)
        return encoder, (encoder.num_features, *config.hidden_sizes)
    first, *others = config.hidden_sizes
    inputs = obs_size if encoder is None else encoder.num_features
    layers = nn.Sequential(nn.Linear(inputs, first), ACTIVATIONS[config.activation]())
    return begun_with(encoder, layers), (first, *others)


def _with_first_weights(network: N, seed: int, encoder: Encoder | None) -> N:
    generator = torch.Generator().manual_seed(seed)
    for name, part in network.named_children():
        if name != "encoder" or not has_weights(encoder):  # which has its own
            init_default(part, generator)
    network.flatten()
    return network
