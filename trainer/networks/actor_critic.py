"""The networks: an actor and a critic with no layers in common."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..config import PolicyConfig
from ..distributions import make_distribution
from ..distributions.gaussian import MAX_LOG_STD, MIN_LOG_STD
from ..envs.spec import Spaces
from .mlp import ACTIVATIONS, flattened, init_orthogonal, make_mlp
from .normalizers import ObsNormalizer, observe
from .policy import Memoryless
from .precision import DTYPES, autocast


class ActorCritic(Memoryless, nn.Module):
    """Observations to the outputs of a distribution over actions, and to values.

    All weights and biases are views of `flat_parameters` [P], the actor's first, with the
    logarithms of deviations at their end: compiled loops and the optimizer work on that one tensor.
    """

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool, seed: int) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__()
        self.distribution = make_distribution(spec.actions, config.distribution)
        self.normalizer = ObsNormalizer(spec.obs_size) if normalize_obs else nn.Identity()
        self.obs_size, self.activation = spec.obs_size, config.activation
        self.precision = DTYPES[config.precision]
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
        with autocast(self.precision, obs.device):
            outputs: Tensor = self.actor(self.normalizer(obs)).float()
        if self.log_std is None:
            return outputs
        return torch.cat([outputs, self.log_std.expand(*outputs.shape[:-1], -1)], -1)

    def values(self, obs: Tensor) -> Tensor:
        """Expected discounted returns [B], from obs [B, obs_size]."""
        with autocast(self.precision, obs.device):
            values: Tensor = self.critic(self.normalizer(obs)).float()
        return values.squeeze(-1)

    @property
    def action_shape(self) -> tuple[int, ...]:
        return self.distribution.action_shape

    @property
    def action_dtype(self) -> torch.dtype:
        return self.distribution.action_dtype

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for `act` on observations of this leading shape."""
        return self.distribution.noise(shape, generator)

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions [B, *action_shape] drawn for obs [B, obs_size], and their log-probabilities."""
        outputs = self.outputs(obs)
        actions = self.distribution.sample(outputs, noise)
        return actions, self.distribution.log_prob_and_entropy(outputs, actions)[0]

    def greedy(self, obs: Tensor) -> Tensor:
        """The actions of evaluation, as the environment takes them."""
        return self.env_actions(self.distribution.mode(self.outputs(obs)))

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` as the environment takes them."""
        return self.distribution.env_actions(actions)

    def observe(self, obs: Tensor) -> None:
        """Take obs [..., obs_size] into the running statistics, where there are any."""
        observe(self.normalizer, obs)

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
