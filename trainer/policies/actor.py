"""What policies for real-valued actions share that learn through a critic.

Actions are kept on [-1, 1], as the critic sees them; the environment gets them in its own units.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial

import torch
from torch import Tensor, nn

from ...shared.errors import ConfigError
from ..settings.policy import PolicyConfig
from ..spaces import Box, Spaces
from .dense import DenseNetwork
from .distributions.squashing import TANH, Squash
from .encoded import EncodedNetwork
from .encoder import make_encoder
from .mlp import DTYPES
from .network import Network
from .noise import symmetric
from .normalizers import make_obs_normalizer
from .policy import Memoryless, stored_obs

OF_ROWS = ("network.matrices",)  # of state-dependent exploration


class Actor(Memoryless, nn.Module, ABC):
    """What actors share: a network from observations, and the bounds of the actions."""

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

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        return self.network.parameters_to_learn()

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.network.flatten()
        self.flat_parameters = self.network.flat_parameters

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
