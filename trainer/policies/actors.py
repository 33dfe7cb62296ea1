"""Policies for real-valued actions that learn through a critic: a distribution, or one action."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..settings.policy import PolicyConfig
from .actor import Actor
from .distributions.squashing import Squashed, squashed, squashed_slopes
from .network import Network
from .noise import normal_from
from .state_dependent import StateDependentNetwork


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
        """Of the means."""
        outputs: Tensor = self.network(obs)
        return self.squash.forward(outputs[..., : self.action_size])

    def draw(self, obs: Tensor, noise: Tensor) -> Drawn:
        """As `act`, for obs that are normalised already, with all that `gradient` needs."""
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
    """As a squashed Gaussian one, with deviations that depend on the state by few weights, and
    noise that environments keep until `network.take_noise`: smooth exploration.

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
