"""A recurrent actor and critic: one trunk with a recurrent layer at its end, and two heads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..settings.policy import PolicyConfig
from ..spaces import Spaces
from .actor_critic import DistributionPolicy
from .encoder import begun_with, make_encoder, sizes_behind
from .mlp import ACTIVATIONS, flattened, init_orthogonal, make_mlp
from .policy import masked, with_mask
from .recurrent import LAYERS, keep_of


class RecurrentActorCritic(DistributionPolicy):
    """Observations, through hidden layers and one that remembers, to a distribution and a value.

    Both heads see the same trunk: what there is to remember is a fact of the environment, of use to
    both, and a second recurrent layer would double the serial part of every step.

    The state of a row [state_size] is a tensor of its own that goes in and comes out: whoever acts
    keeps it, so that no two that act share any. It is zeros where an episode begins.
    """

    def __init__(
        self,
        spec: Spaces,
        config: PolicyConfig,
        normalize_obs: bool,
        seed: int,
        embedding_size: int = 0,
    ) -> None:
        """Weights are drawn from `seed` alone; with an `embedding_size` there is a third head, for
        learning alone, after all others.
        """
        super().__init__(spec, config, normalize_obs)
        generator = torch.Generator().manual_seed(seed)
        memory = config.memory
        obs_encoder = make_encoder(config, spec, seed, from_replay=False, orthogonal=True)
        sizes = sizes_behind(obs_encoder, spec, *config.hidden_sizes)
        self.horizon = memory.horizon
        self.encoder = make_mlp(sizes, ACTIVATIONS[config.activation], is_last=False)
        init_orthogonal(self.encoder, 2**0.5, generator)
        begun_with(obs_encoder, self.encoder)
        self.layer = LAYERS[memory.kind](sizes[-1], memory.size, generator)
        self.state_size = self.layer.state_size
        self.actor = nn.Linear(memory.size, self.num_network_outputs)
        self.critic = nn.Linear(memory.size, 1)
        # Near-equal probabilities at first, values of the size of the inputs.
        for head, gain in ((self.actor, 0.01), (self.critic, 1.0)):
            init_orthogonal(nn.Sequential(head), gain, generator)
        self.projection = nn.Linear(memory.size, embedding_size) if embedding_size else None
        if self.projection:
            init_orthogonal(nn.Sequential(self.projection), 1.0, generator)
        self.flat_parameters = flattened(self.parameters_to_learn())

    def step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Features [B, size] of obs [B, obs_size], with the action mask behind them if there is
        one, and the next state [B, state_size].
        """
        features, state = self.layer.step(self.encoder(self.normalizer(obs)), state)
        return with_mask(features, obs, self.mask_size), state

    def over_rows(self, obs: Tensor, state: Tensor, resets: Tensor) -> tuple[Tensor, ...]:
        """The state's parts [L, B, size] after every step, of rows of L steps: features first, with
        the action mask behind them if there is one.

        `obs` are [L, B, obs_size], `state` [B, state_size] that before the first step, and `resets`
        [L, B] the steps after which an episode was over.
        """
        inputs = self.encoder(self.normalizer(obs))
        features, *others = self.layer(inputs, state, keep_of(resets))
        return with_mask(features, obs, self.mask_size), *others

    def states_of(self, parts: Sequence[Tensor]) -> Tensor:
        """States [..., state_size], from their parts as `over_rows` gives them."""
        return torch.cat([parts[0][..., : self.layer.size], *parts[1:]], -1)

    def outputs(self, features: Tensor) -> Tensor:
        """The distribution's inputs [..., num_outputs], from features [..., size]."""
        outputs = self.with_log_stds(self.actor(features[..., : self.layer.size]))
        return masked(outputs, features, self.mask_size)

    def values(self, features: Tensor) -> Tensor:
        """Expected discounted returns [...], from features [..., size]."""
        values: Tensor = self.critic(features[..., : self.layer.size])
        return values.squeeze(-1)

    def values_of_states(self, states: Tensor) -> Tensor:
        """Values [...] of observations, from the states [..., S] after them: features come first
        in those.
        """
        return self.values(states)

    def embed(self, features: Tensor) -> Tensor:
        """Unit vectors [..., embedding_size] by which features [..., size] are compared."""
        assert self.projection is not None
        return normalize(self.projection(features[..., : self.layer.size]), dim=-1)

    def act_step(self, obs: Tensor, noise: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Actions [B, *action_shape] drawn for obs [B, obs_size], their log-probabilities, and the
        next state.
        """
        features, state = self.step(obs, state)
        outputs = self.outputs(features)
        actions = self.distribution.sample(outputs, noise)
        return actions, self.distribution.log_prob_and_entropy(outputs, actions)[0], state

    def greedy_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The actions of evaluation, as the environment takes them, and the next state."""
        features, state = self.step(obs, state)
        return self.env_actions(self.distribution.mode(self.outputs(features))), state

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        every = (self.encoder, self.layer, self.actor, self.critic, self.projection)
        modules = [module for module in every if module is not None]
        return [*(x for module in modules for x in module.parameters()), *self._log_stds]

    def networks_of(self, gradient: Tensor) -> Sequence[Tensor]:
        """All of `gradient` [P]: everything shares the trunk."""
        return (gradient,)
