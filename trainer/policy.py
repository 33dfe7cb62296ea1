"""The networks: an actor and a critic with no layers in common."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .config import PolicyConfig
from .distributions import make_distribution
from .distributions.gaussian import MAX_LOG_STD, MIN_LOG_STD
from .envs.spec import Spaces
from .normalizers import ObsNormalizer

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}


class ActorCritic(nn.Module):
    """Observations to the outputs of a distribution over actions, and to values.

    All weights and biases are views of `flat_parameters` [P], the actor's first, with the
    logarithms of deviations at their end: compiled loops and the optimizer work on that one tensor.
    """

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool, seed: int) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__()
        self.distribution = make_distribution(spec.actions, config.distribution)
        self.normalizer = ObsNormalizer(spec.obs_size) if normalize_obs else nn.Identity()
        self.activation = config.activation
        self.is_bfloat16 = config.precision == "bfloat16"
        num_log_stds = self.distribution.num_log_stds
        num_outputs = self.distribution.num_outputs - num_log_stds
        self.actor_sizes = (spec.obs_size, *config.hidden_sizes, num_outputs)
        self.critic_sizes = (spec.obs_size, *config.hidden_sizes, 1)
        self.actor = make_mlp(self.actor_sizes, ACTIVATIONS[config.activation])
        self.critic = make_mlp(self.critic_sizes, ACTIVATIONS[config.activation])
        generator = torch.Generator().manual_seed(seed)
        # Near-equal probabilities at first, values of the size of the inputs.
        init_orthogonal(self.actor, 0.01, generator)
        init_orthogonal(self.critic, 1.0, generator)
        log_stds = torch.full((num_log_stds,), config.initial_log_std)
        self.log_std = nn.Parameter(log_stds) if num_log_stds else None
        self.flat_parameters = flattened(self.parameters_to_learn())
        self.num_actor_parameters = sum(p.numel() for p in self._actor_parameters())

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.flat_parameters = flattened(self.parameters_to_learn())

    def outputs(self, obs: Tensor) -> Tensor:
        """What the distribution takes [B, num_outputs], from obs [B, obs_size]."""
        with self._precision(obs):
            outputs: Tensor = self.actor(self.normalizer(obs)).float()
        if self.log_std is None:
            return outputs
        return torch.cat([outputs, self.log_std.expand(*outputs.shape[:-1], -1)], -1)

    def values(self, obs: Tensor) -> Tensor:
        """Expected discounted returns [B], from obs [B, obs_size]."""
        with self._precision(obs):
            values: Tensor = self.critic(self.normalizer(obs)).float()
        return values.squeeze(-1)

    def _precision(self, obs: Tensor) -> torch.autocast:
        """What products of the networks are computed in; weights stay float32."""
        return torch.autocast(obs.device.type, torch.bfloat16, enabled=self.is_bfloat16)

    def observe(self, obs: Tensor) -> None:
        """Take obs [..., obs_size] into the running statistics, where there are any."""
        if isinstance(self.normalizer, ObsNormalizer):
            self.normalizer.moments.update(obs.flatten(0, -2))

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        return [*self._actor_parameters(), *self.critic.parameters()]

    @torch.no_grad()
    def limit_log_std(self) -> None:
        """Keep deviations within their limits; for after each step of an optimizer."""
        if self.log_std is not None:
            self.log_std.clamp_(MIN_LOG_STD, MAX_LOG_STD)

    def _actor_parameters(self) -> list[nn.Parameter]:
        log_stds = [] if self.log_std is None else [self.log_std]
        return [*self.actor.parameters(), *log_stds]


@torch.no_grad()
def flattened(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Move parameters side by side into one tensor [P], and return it."""
    flat = torch.cat([parameter.flatten() for parameter in parameters])
    place = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = flat[place : place + size].view_as(parameter)
        place += size
    return flat


def make_mlp(sizes: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    """Linear layers of these sizes with `activation` between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*layers[:-1])


def init_orthogonal(network: nn.Sequential, last_gain: float, generator: torch.Generator) -> None:
    """Orthogonal weights of gain sqrt(2), `last_gain` for the last layer, and no biases.

    Source: Huang et al. 2022, "The 37 implementation details of PPO", detail 2.
    """
    linears = [layer for layer in network if isinstance(layer, nn.Linear)]
    for layer in linears:
        gain = last_gain if layer is linears[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
        nn.init.zeros_(layer.bias)
