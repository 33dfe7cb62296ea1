"""The networks: an actor and a critic, which share no layer but an encoder of images."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from ..settings.policy import PolicyConfig
from ..spaces import Spaces
from .distributions import make_distribution
from .distributions.categorical import Categorical, MultiCategorical
from .distributions.gaussian import MAX_LOG_STD, MIN_LOG_STD
from .encoder import begun_with, has_weights, is_shared, make_encoder, sizes_behind
from .mlp import ACTIVATIONS, DTYPES, autocast, flattened, init_orthogonal, make_mlp
from .normalizers import make_obs_normalizer
from .policy import Memoryless, masked


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
        """The distribution's inputs [..., num_outputs], from the network's outputs."""
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


class ActorCritic(Memoryless, DistributionPolicy):
    """Observations to the outputs of a distribution over actions, and to values.

    All weights and biases are views of `flat_parameters` [P], the actor's first, with the
    logarithms of deviations at their end: compiled loops and the optimizer work on that one tensor.

    An encoder of images, or a network of the user's, is shared: its weights come first, and one
    pass through it serves both. Source: CleanRL's ppo_atari. Of an environment's own encoder each
    network has one.
    """

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool, seed: int) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__(spec, config, normalize_obs)
        self.precision = DTYPES[config.precision]
        make = partial(make_encoder, config, spec, seed, from_replay=False, orthogonal=True)
        actor_encoder = make(0)
        shares_encoder = is_shared(actor_encoder) and has_weights(actor_encoder)
        self.encoder = actor_encoder if shares_encoder else None
        critic_encoder = self.encoder or make(1)
        self.actor_sizes = sizes_behind(
            actor_encoder, spec, *config.hidden_sizes, self.num_network_outputs
        )
        self.critic_sizes = sizes_behind(critic_encoder, spec, *config.hidden_sizes, 1)
        self.actor = make_mlp(self.actor_sizes, ACTIVATIONS[config.activation])
        self.critic = make_mlp(self.critic_sizes, ACTIVATIONS[config.activation])
        generator = torch.Generator().manual_seed(seed)
        # Near-equal probabilities at first, values of the size of the inputs.
        init_orthogonal(self.actor, 0.01, generator)
        init_orthogonal(self.critic, 1.0, generator)
        if self.encoder is None:
            begun_with(actor_encoder, self.actor)
            begun_with(critic_encoder, self.critic)
        self.flat_parameters = flattened(self.parameters_to_learn())
        self.num_actor_parameters = sum(p.numel() for p in self._actor_parameters())

    def step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs of `outputs` and `values`, and the empty state."""
        return obs, state

    def outputs(self, obs: Tensor) -> Tensor:
        """The distribution's inputs [B, num_outputs], from obs [B, obs_size]."""
        with autocast(self.precision, obs.device):
            outputs: Tensor = self.actor(self._seen(obs)).float()
        return masked(self.with_log_stds(outputs), obs, self.mask_size)

    def values(self, obs: Tensor) -> Tensor:
        """Expected discounted returns [B], from obs [B, obs_size]."""
        with autocast(self.precision, obs.device):
            values: Tensor = self.critic(self._seen(obs)).float()
        return values.squeeze(-1)

    def evaluate(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """`outputs` and `values` of obs [B, obs_size], through a shared encoder once."""
        if self.encoder is None:
            return self.outputs(obs), self.values(obs)
        with autocast(self.precision, obs.device):
            seen = self._seen(obs)
            outputs, values = self.actor(seen).float(), self.critic(seen).float()
        return masked(self.with_log_stds(outputs), obs, self.mask_size), values.squeeze(-1)

    def _seen(self, obs: Tensor) -> Tensor:
        """The input of both networks' layers."""
        seen: Tensor = self.normalizer(obs)
        return seen if self.encoder is None else self.encoder(seen)

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions [B, *action_shape] drawn for obs [B, obs_size], and their log-probabilities."""
        outputs = self.outputs(obs)
        actions = self.distribution.sample(outputs, noise)
        return actions, self.distribution.log_prob_and_entropy(outputs, actions)[0]

    def greedy(self, obs: Tensor) -> Tensor:
        """The actions of evaluation, as the environment takes them."""
        return self.env_actions(self.distribution.mode(self.outputs(obs)))

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        shared = [] if self.encoder is None else self.encoder.parameters()
        return [*shared, *self._actor_parameters(), *self.critic.parameters()]

    def networks_of(self, gradient: Tensor) -> Sequence[Tensor]:
        """The parts of `gradient` [P] that belong to the actor and to the critic; all of it where
        they share an encoder.
        """
        if self.encoder is not None:
            return (gradient,)
        return gradient[: self.num_actor_parameters], gradient[self.num_actor_parameters :]

    def _actor_parameters(self) -> list[nn.Parameter]:
        return [*self.actor.parameters(), *self._log_stds]
