"""Policies for real-valued actions that learn through a critic: a distribution, or one action.

Actions are kept on [-1, 1], as the critic sees them; the environment gets them in its own units.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ...shared.errors import ConfigError
from ..config import PolicyConfig
from ..distributions.squashed import Squashed, squashed, squashed_slopes
from ..envs.spec import Box, Spaces
from .dense import DenseNetwork
from .exploration import Exploration, GaussianNoise
from .normalizers import ObsNormalizer, observe


class Actor(nn.Module):
    """What actors share: a network from observations, and the bounds of the actions."""

    outputs_per_action = 1
    action_dtype = torch.float32

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool, seed: int) -> None:
        """Weights are drawn from `seed` alone. Raises ConfigError unless actions are real numbers
        within finite bounds.
        """
        super().__init__()
        if not isinstance(spec.actions, Box):
            raise ConfigError("actions are discrete: this algorithm wants real-valued ones")
        if not all(map(math.isfinite, (*spec.actions.low, *spec.actions.high))):
            raise ConfigError("actions have no finite bounds: this algorithm scales them to theirs")
        self.action_size = spec.actions.action_size
        self.action_shape: tuple[int, ...] = (self.action_size,)
        self.normalizer = ObsNormalizer(spec.obs_size) if normalize_obs else nn.Identity()
        outputs = self.outputs_per_action * self.action_size
        self.network = DenseNetwork(
            (spec.obs_size, *config.hidden_sizes, outputs), config.activation,
            generator=torch.Generator().manual_seed(seed),
        )  # fmt: skip
        self.flat_parameters = self.network.flat_parameters
        self.low: Tensor
        self.high: Tensor
        self.center: Tensor
        self.scale: Tensor
        low, high = torch.tensor(spec.actions.low), torch.tensor(spec.actions.high)
        for name, value in (
            ("low", low), ("high", high), ("center", (low + high) / 2), ("scale", (high - low) / 2)
        ):  # fmt: skip
            self.register_buffer(name, value, persistent=False)

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        return self.network.parameters_to_learn()

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.network.flatten()
        self.flat_parameters = self.network.flat_parameters

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Standard normal numbers for `act` on observations of this leading shape."""
        shape = (*shape, self.action_size)
        return torch.randn(shape, generator=generator, device=generator.device)

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` in the environment's units: its bounds for -1 and 1."""
        return torch.addcmul(self.center, self.scale, actions).clamp(self.low, self.high)

    def observe(self, obs: Tensor) -> None:
        """Take obs [..., obs_size] into the running statistics, where there are any."""
        observe(self.normalizer, obs)


class Drawn(NamedTuple):
    """Actions [B, A] that a loss may be followed through, and their log-probabilities [B]."""

    actions: Tensor
    log_probs: Tensor
    sample: Squashed
    tape: Any


class SquashedGaussianActor(Actor):
    """tanh of normal distributions, of which the network gives means and deviations.

    Source: Haarnoja et al. 2018, arXiv:1812.05905.
    """

    outputs_per_action = 2

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B, A] drawn for obs [B, obs_size] with `noise` [B, A]."""
        return squashed(self.network(self.normalizer(obs)), noise).actions, None

    def greedy(self, obs: Tensor) -> Tensor:
        """tanh of the means, in the environment's units."""
        outputs: Tensor = self.network(self.normalizer(obs))
        return self.env_actions(outputs[..., : self.action_size].tanh())

    def draw(self, obs: Tensor, noise: Tensor) -> Drawn:
        """As `act`, for obs that are normalised already, with all that `gradient` needs."""
        outputs, tape = self.network.taped(obs)
        sample = squashed(outputs, noise)
        return Drawn(sample.actions, sample.log_probs, sample, tape)

    def gradient(self, drawn: Drawn, by_actions: Tensor, by_log_probs: Tensor) -> Tensor:
        """The derivative of a loss by all weights [P], from those by the drawn actions [B, A] and
        by their log-probabilities [B].
        """
        by_outputs = squashed_slopes(drawn.sample, by_actions, by_log_probs)
        return self.network.gradient(drawn.tape, by_outputs)


class DeterministicActor(Actor):
    """One action for an observation: tanh of the network's outputs.

    Source: Lillicrap et al. 2016, arXiv:1509.02971.
    """

    def __init__(
        self,
        spec: Spaces,
        config: PolicyConfig,
        normalize_obs: bool,
        seed: int,
        exploration: Exploration | None = None,
    ) -> None:
        """`exploration` is what `act` adds to actions: by default Gaussian noise of 0.1."""
        super().__init__(spec, config, normalize_obs, seed)
        self.exploration = exploration or GaussianNoise(0.1)

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B, A] for obs [B, obs_size], explored with `noise` [B, A] of unit deviation."""
        return self.exploration(self.actions(self.normalizer(obs)), noise), None

    def actions(self, obs: Tensor) -> Tensor:
        """[B, A] on [-1, 1], for obs that are normalised already."""
        actions: Tensor = self.network(obs).tanh()
        return actions

    def greedy(self, obs: Tensor) -> Tensor:
        """In the environment's units."""
        return self.env_actions(self.actions(self.normalizer(obs)))

    def taped(self, obs: Tensor) -> tuple[Tensor, Any]:
        """Actions [B, A] for obs that are normalised already, and what `gradient` needs."""
        outputs, tape = self.network.taped(obs)
        actions = outputs.tanh_()
        return actions, (actions, tape)

    def gradient(self, tape: Any, by_actions: Tensor) -> Tensor:
        """The derivative of a loss by all weights [P], from that by the actions [B, A]."""
        actions, network_tape = tape
        by_outputs = torch.ops.aten.tanh_backward(by_actions, actions)
        return self.network.gradient(network_tape, by_outputs)
