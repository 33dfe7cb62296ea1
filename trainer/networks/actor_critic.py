"""The networks: an actor and a critic with no layers in common."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..config import PolicyConfig
from ..envs.spec import Spaces
from .distribution_policy import DistributionPolicy
from .encoder import begun_with, embedding_of, sizes_behind
from .mlp import ACTIVATIONS, flattened, init_orthogonal, make_mlp
from .policy import Memoryless
from .precision import DTYPES, autocast


class ActorCritic(Memoryless, DistributionPolicy):
    """Observations to the outputs of a distribution over actions, and to values.

    All weights and biases are views of `flat_parameters` [P], the actor's first, with the
    logarithms of deviations at their end: compiled loops and the optimizer work on that one tensor.
    """

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool, seed: int) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__(spec, config, normalize_obs)
        self.precision = DTYPES[config.precision]
        actor_eyes, critic_eyes = (embedding_of(spec, seed, number) for number in range(2))
        self.actor_sizes = sizes_behind(
            actor_eyes, spec, *config.hidden_sizes, self.num_network_outputs
        )
        self.critic_sizes = sizes_behind(critic_eyes, spec, *config.hidden_sizes, 1)
        self.actor = make_mlp(self.actor_sizes, ACTIVATIONS[config.activation])
        self.critic = make_mlp(self.critic_sizes, ACTIVATIONS[config.activation])
        generator = torch.Generator().manual_seed(seed)
        # Near-equal probabilities at first, values of the size of the inputs.
        init_orthogonal(self.actor, 0.01, generator)
        init_orthogonal(self.critic, 1.0, generator)
        begun_with(actor_eyes, self.actor)
        begun_with(critic_eyes, self.critic)
        self.flat_parameters = flattened(self.parameters_to_learn())
        self.num_actor_parameters = sum(p.numel() for p in self._actor_parameters())

    def step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """What `outputs` and `values` take, and a state of nothing: as one that remembers."""
        return obs, state

    def outputs(self, obs: Tensor) -> Tensor:
        """What the distribution takes [B, num_outputs], from obs [B, obs_size]."""
        with autocast(self.precision, obs.device):
            outputs: Tensor = self.actor(self.normalizer(obs)).float()
        return self.with_log_stds(outputs)

    def values(self, obs: Tensor) -> Tensor:
        """Expected discounted returns [B], from obs [B, obs_size]."""
        with autocast(self.precision, obs.device):
            values: Tensor = self.critic(self.normalizer(obs)).float()
        return values.squeeze(-1)

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
        return [*self._actor_parameters(), *self.critic.parameters()]

    def networks_of(self, gradient: Tensor) -> Sequence[Tensor]:
        """The parts of `gradient` [P] that belong to the actor and to the critic."""
        return gradient[: self.num_actor_parameters], gradient[self.num_actor_parameters :]

    def _actor_parameters(self) -> list[nn.Parameter]:
        return [*self.actor.parameters(), *self._log_stds]
