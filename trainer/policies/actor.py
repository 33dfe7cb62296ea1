"""Policies for real-valued actions that learn through a critic.

Actions are kept on [-1, 1], as the critic sees them; the environment gets them in its own units.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ...shared.errors import ConfigError
from ..settings.policy import PolicyConfig
from ..spaces import Box, Spaces
from .dense import DenseNetwork
from .distributions.squashing import TANH, Squash, Squashed, squashed, squashed_slopes
from .encoded import EncodedNetwork
from .encoder import make_encoder
from .mlp import DTYPES
from .network import Network
from .noise import normal_from, symmetric
from .normalizers import make_obs_normalizer
from .policy import NetworkPolicy, stored_obs
from .state_dependent import StateDependentNetwork

OF_ROWS = ("network.matrices",)  # of state-dependent exploration


class Actor(NetworkPolicy, ABC):
    """The base of actors: a network from observations, and the bounds of the actions."""

    outputs_per_action = 1
    action_dtype = torch.float32

    def __init__(
        self,
        spec: Spaces,
        config: PolicyConfig,
        normalize_obs: bool,
        seed: int,
        *,
        squash: Squash = TANH,
        is_epsilon_greedy: bool = False,
    ) -> None:
        """Weights are drawn from `seed` alone. `squash` takes outputs to actions, a part `epsilon`
        of which is random: all or none, or where it `is_epsilon_greedy` anything between. Raises
        ConfigError unless actions are real numbers within finite bounds.
        """
        super().__init__()
        self.squash, self.is_epsilon_greedy = squash, is_epsilon_greedy
        if not isinstance(spec.actions, Box):
            raise ConfigError("actions are discrete: this algorithm wants real-valued ones")
        if not all(map(math.isfinite, (*spec.actions.low, *spec.actions.high))):
            raise ConfigError("actions have no finite bounds: this algorithm scales them to theirs")
        self.obs_size, self.action_size = spec.obs_size, spec.actions.action_size
        self.action_shape: tuple[int, ...] = (self.action_size,)
        self.stored_obs = stored_obs(spec)
        self.normalizer = make_obs_normalizer(spec, normalize_obs)
        self.make_encoder = partial(make_encoder, config, spec)
        self.network = self._make_network(spec.obs_size, config, seed)
        self.network.set_precision(DTYPES[config.precision])
        self.flat_parameters = self.network.flat_parameters
        self.of_rows = [name for name in OF_ROWS if name in self.state_dict()]
        self.low: Tensor
        self.high: Tensor
        self.center: Tensor
        self.scale: Tensor
        self.epsilon: Tensor
        self.register_buffer("epsilon", torch.zeros(()), persistent=False)
        low, high = torch.tensor(spec.actions.low), torch.tensor(spec.actions.high)
        for name, value in (
            ("low", low),
            ("high", high),
            ("center", (low + high) / 2),
            ("scale", (high - low) / 2),
        ):
            self.register_buffer(name, value, persistent=False)

    def _make_network(self, obs_size: int, config: PolicyConfig, seed: int) -> Network:
        num_outputs, encoder = self.outputs_per_action * self.action_size, self.make_encoder(seed)
        if encoder is not None:
            return EncodedNetwork(
                encoder, config.hidden_sizes, num_outputs, config.activation, seed
            )
        sizes = (obs_size, *config.hidden_sizes, num_outputs)
        generator = torch.Generator().manual_seed(seed)
        return DenseNetwork(sizes, config.activation, generator=generator)

    @property
    def num_noise(self) -> int:
        """Random numbers that `act` takes for an observation: one for each action, and one that
        epsilon is compared with where it is between 0 and 1.
        """
        return self.action_size + self.is_epsilon_greedy

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """[..., `num_noise`] in [0, 1), for `act` on observations of this leading shape."""
        return torch.rand((*shape, self.num_noise), generator=generator, device=generator.device)

    @abstractmethod
    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B, A] for obs [B, obs_size], explored with `noise` [B, num_noise] in [0, 1)."""

    @abstractmethod
    def best(self, obs: Tensor) -> Tensor:
        """The actions of evaluation [B, A] on [-1, 1], for obs that are normalised already."""

    def greedy(self, obs: Tensor) -> Tensor:
        """The actions of evaluation for obs [B, obs_size], in the environment's units."""
        return self.env_actions(self.best(self.normalizer(obs)))

    def random_or(self, actions: Tensor, noise: Tensor) -> Tensor:
        """`actions`, or in a part `epsilon` of the rows any between the bounds, equally likely."""
        chance = noise[..., -1:] if self.is_epsilon_greedy else 0.0
        anywhere = symmetric(noise[..., : self.action_size])
        return torch.where(self.epsilon > chance, anywhere, actions)

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` in the environment's units: its bounds for -1 and 1."""
        return torch.addcmul(self.center, self.scale, actions).clamp(self.low, self.high)


class Drawn(NamedTuple):
    """Actions [B, A] that a loss may be followed through, and their log-probabilities [B]."""

    actions: Tensor
    log_probs: Tensor
    sample: Squashed
    tape: Any


class SquashedGaussianActor(Actor):
    """Squashed normal distributions, of which the network gives means and deviations.

    Source: Haarnoja et al. 2018, arXiv:1812.05905.
    """

    outputs_per_action = 2

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B, A] drawn for obs [B, obs_size] with `noise` [B, num_noise] in [0, 1)."""
        outputs: Tensor = self.network(self.normalizer(obs))
        normals = normal_from(noise[..., : self.action_size])
        actions = squashed(outputs, normals, self.squash).actions
        return self.random_or(actions, noise), None

    def best(self, obs: Tensor) -> Tensor:
        """The squashed means."""
        outputs: Tensor = self.network(obs)
        return self.squash.forward(outputs[..., : self.action_size])

    def draw(self, obs: Tensor, noise: Tensor) -> Drawn:
        """Actions for normalised obs, with everything that `gradient` needs."""
        return self.drawn_from(*self.network.taped(obs), noise)

    def drawn_from(self, outputs: Tensor, tape: Any, noise: Tensor) -> Drawn:
        """Actions from the network's outputs, and its tape."""
        sample = squashed(outputs, noise, self.squash)
        return Drawn(sample.actions, sample.log_probs, sample, tape)

    def gradient(self, drawn: Drawn, by_actions: Tensor, by_log_probs: Tensor) -> Tensor:
        """The derivative of a loss by all weights [P], from those by the drawn actions [B, A] and
        by their log-probabilities [B].
        """
        by_outputs = squashed_slopes(drawn.sample, by_actions, by_log_probs)
        return self.network.gradient(drawn.tape, by_outputs)


class StateDependentActor(SquashedGaussianActor):
    """A squashed Gaussian actor for smooth exploration: deviations depend on the state by few
    weights, and each environment keeps its noise until `network.take_noise`.

    Source: Raffin et al. 2021, arXiv:2005.05719.
    """

    network: StateDependentNetwork
    is_noisy = True  # a matrix of noise for each row, so that all rows act at once

    def __init__(self, *arguments: Any, num_rows: int, std: float, **options: Any) -> None:
        """`arguments` and `options` are an actor's; `act` gets `num_rows` observations, and `std`
        is the deviation of what the matrices have.
        """
        self._num_rows, self._log_std = num_rows, math.log(std)
        super().__init__(*arguments, **options)

    def _make_network(self, obs_size: int, config: PolicyConfig, seed: int) -> Network:
        encoder = self.make_encoder(seed)
        sizes = (encoder.num_features if encoder else obs_size, *config.hidden_sizes)
        return StateDependentNetwork(
            sizes,
            self.action_size,
            config.activation,
            self._num_rows,
            seed=seed,
            initial_log_std=self._log_std,
            encoder=encoder,
        )

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [num_envs, A] by the matrices; `noise` in [0, 1) is for random ones."""
        explored = self.network.explored(self.normalizer(obs))
        return self.random_or(self.squash.forward(explored), noise), None


class GaussianNoise(nn.Module):
    """Exploration noise that is independent in every step, of deviation `std` in half ranges."""

    def __init__(self, std: float) -> None:
        super().__init__()
        self.std: Tensor
        self.register_buffer("std", torch.tensor(std))

    def forward(self, actions: Tensor, noise: Tensor) -> Tensor:
        return torch.addcmul(actions, self.std, noise).clamp(-1, 1)


class DeterministicActor(Actor):
    """One action for an observation: the network's outputs, squashed.

    Source: Lillicrap et al. 2016, arXiv:1509.02971.
    """

    def __init__(self, *arguments: Any, std: float = 0.0, **options: Any) -> None:
        """`arguments` and `options` are an actor's; `std` is the deviation of what `act` adds."""
        super().__init__(*arguments, **options)
        self.exploration = GaussianNoise(std)

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B, A] for obs [B, obs_size], explored with `noise` [B, num_noise] in [0, 1)."""
        normals = normal_from(noise[..., : self.action_size])
        actions = self.exploration(self.best(self.normalizer(obs)), normals)
        return self.random_or(actions, noise), None

    def best(self, obs: Tensor) -> Tensor:
        return self.squash.forward(self.network(obs))

    def taped(self, obs: Tensor) -> tuple[Tensor, Any]:
        """Actions [B, A] for obs that are normalised already, and what `gradient` needs."""
        outputs, tape = self.network.taped(obs)
        actions = self.squash.forward(outputs)
        return actions, (actions, tape)

    def gradient(self, tape: Any, by_actions: Tensor) -> Tensor:
        """The derivative of a loss by all weights [P], from that by the actions [B, A]."""
        actions, network_tape = tape
        by_outputs = self.squash.backward(by_actions, actions)
        return self.network.gradient(network_tape, by_outputs)
