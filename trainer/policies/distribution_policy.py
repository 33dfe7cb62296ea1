"""Policies that draw actions from a distribution: what they share, whatever their networks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..settings.policy import PolicyConfig
from ..spaces import Spaces
from .distributions import make_distribution
from .distributions.categorical import Categorical, MultiCategorical
from .distributions.gaussian import MAX_LOG_STD, MIN_LOG_STD
from .mlp import flattened
from .normalizers import make_obs_normalizer


class DistributionPolicy(nn.Module):
    """A distribution over actions, whose deviations are parameters where it is a Gaussian one.

    All weights and biases are views of `flat_parameters` [P].
    """

    flat_parameters: Tensor
    of_rows: Sequence[str] = ()

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool) -> None:
        super().__init__()
        self.distribution = make_distribution(spec.actions, config.distribution)
        self.obs_size, self.activation = spec.obs_size, config.activation
        self.mask_size = spec.mask_size
        self.normalizer = make_obs_normalizer(spec, normalize_obs)
        if self.mask_size:
            assert isinstance(self.distribution, Categorical | MultiCategorical)
            self.distribution.is_masked = True
        num_log_stds = self.distribution.num_log_stds
        self.num_network_outputs = self.distribution.num_outputs - num_log_stds
        log_stds = torch.full((num_log_stds,), config.initial_log_std)
        self.log_std = nn.Parameter(log_stds) if num_log_stds else None

    @abstractmethod
    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""

    @abstractmethod
    def networks_of(self, gradient: Tensor) -> Sequence[Tensor]:
        """The parts of `gradient` [P] that belong to networks with no layers in common."""

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.flat_parameters = flattened(self.parameters_to_learn())

    def with_log_stds(self, outputs: Tensor) -> Tensor:
        """What the distribution takes [..., num_outputs], from what the network gives."""
        if self.log_std is None:
            return outputs
        return torch.cat([outputs, self.log_std.expand(*outputs.shape[:-1], -1)], -1)

    @property
    def action_shape(self) -> tuple[int, ...]:
        return self.distribution.action_shape

    @property
    def action_dtype(self) -> torch.dtype:
        return self.distribution.action_dtype

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for `act` on observations of this leading shape."""
        return self.distribution.noise(shape, generator)

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` as the environment takes them."""
        return self.distribution.env_actions(actions)

    @torch.no_grad()
    def limit_log_std(self) -> None:
        """Keep deviations within their limits; for after each step of an optimizer."""
        if self.log_std is not None:
            self.log_std.clamp_(MIN_LOG_STD, MAX_LOG_STD)

    @property
    def _log_stds(self) -> list[nn.Parameter]:
        return [] if self.log_std is None else [self.log_std]
