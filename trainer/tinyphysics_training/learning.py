"""PPO on whole episodes along known routes, with behaviour cloning before its first update."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from ..algorithms.algorithm import LearnerSettings, Metrics
from ..algorithms.minibatches import fill_values
from ..algorithms.on_policy import flat_gradient
from ..algorithms.optimizer import scaled_down
from ..algorithms.ppo import PPO
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.reductions import mean_gradient
from ..distributed.sampler import local_places
from ..envs.tinyphysics.engines.engine import Engine
from ..envs.tinyphysics.routes import Routes
from ..envs.tinyphysics.sections import EPISODE_STEPS, CloningConfig, TinyPhysicsConfig
from ..machine.values import Scalar, State
from ..memory.rollout import Rollout
from ..memory.samplers import next_minibatches
from ..policies.actor_critic import ActorCritic
from .cloning import clone, demonstrations, set_gradients


class EpisodePPO(PPO):
    """PPO whose advantages are centred over the episodes along the same route, step by step.

    Before the first rollout the actor clones a teacher where that is configured. On the first
    rollout the critic is fitted alone, so that the first advantages are not noise.
    """

    begins = True
    policy: ActorCritic

    def __init__(
        self,
        settings: LearnerSettings,
        policy: ActorCritic,
        engine: Engine,
        routes: Routes,
        driving: TinyPhysicsConfig,
        cloning: CloningConfig,
        *,
        seed: int,
        cloning_seed: int,
        tick: Callable[[], None] = lambda: None,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        """`routes` and `cloning_seed` give the demonstrations to clone."""
        super().__init__(settings, policy, seed=seed, tick=tick, ranks=ranks)
        self._engine, self._routes = engine, routes
        self._cloning, self._driving = cloning, driving
        self._generator = torch.Generator().manual_seed(cloning_seed)
        self._cloning_env_steps = 0  # of the demonstrations
        self._cloning_loss = math.nan
        self._has_begun = False  # True between `begin` and the first `learn`

    @property
    def pretraining_env_steps(self) -> int:
        return self._cloning_env_steps

    def begin(self) -> None:
        """Behaviour cloning. Every rank drives all demonstrations and learns from its part."""
        self._has_begun = True
        if not self._cloning.num_epochs:
            return
        if self._cloning.source == "pid":
            self._cloning_env_steps = len(self._routes) * EPISODE_STEPS
        with torch.inference_mode():
            shown = demonstrations(self._engine, self._routes, self._cloning, self._generator)
        self._cloning_loss = clone(
            self.policy, shown, self._cloning, self._generator, self.tick, self.ranks
        )
        self.ranks.broadcast(self.policy.flat_parameters)  # before any rank acts by it

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Scalar) -> Metrics:
        is_first, self._has_begun = self._has_begun, False
        if not is_first:
            return super().learn(rollout, rewards, progress_fraction)
        if self._driving.critic_epochs:
            self.fit_critic(rollout, rewards, self._driving.critic_epochs)
        metrics = super().learn(rollout, rewards, progress_fraction)
        return {"loss/cloning": self._cloning_loss, **metrics}

    def estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        advantages, returns = super().estimates(rollout, rewards)
        return centred(advantages, self._driving.rollouts_per_route), returns

    def fit_critic(self, rollout: Rollout, rewards: Tensor, num_epochs: int) -> None:
        """Fit the critic alone, for `num_epochs` over the rollout."""
        fill_values(self.policy, rollout)
        _, returns = self.estimates(rollout, rewards)
        obs, returns = rollout.obs[:-1].flatten(0, 1), returns.flatten()
        num_samples, places = local_places(rollout, self.ranks)
        places = places.to(obs.device)
        parameters = list(self.policy.critic.parameters())
        like = torch.cat([parameter.detach().flatten() for parameter in parameters])
        optimizer = torch.optim.Adam(parameters, self.section.learning_rate)
        for _ in range(num_epochs):
            for index in next_minibatches(self.orders, num_samples, self.section.num_minibatches):
                local = places[index]
                local = local[local >= 0]
                work = partial(self._critic_gradient, parameters, obs[local], returns[local])
                gradient, _ = mean_gradient(self.ranks, len(local), work, like, 0)
                scaled_down(gradient, self.section.max_grad_norm)
                set_gradients(parameters, gradient)
                optimizer.step()
                self.tick()
        optimizer.zero_grad()

    def _critic_gradient(
        self, parameters: list[nn.Parameter], obs: Tensor, returns: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The derivative [P] of the values' mean loss, and no other sums [0]."""
        loss = 0.5 * ((self.policy.values(obs) - returns) ** 2).mean()
        return flat_gradient(loss, parameters), loss.new_empty(0)

    def extra_state(self) -> State:
        return {
            **super().extra_state(),
            "cloning": self._generator.get_state(),
            "cloning_env_steps": self._cloning_env_steps,
        }

    def load_extra_state(self, state: State) -> None:
        super().load_extra_state(state)
        self._generator.set_state(state["cloning"])
        self._cloning_env_steps = int(state.get("cloning_env_steps", 0))


def centred(advantages: Tensor, group_size: int) -> Tensor:
    """`advantages` [T, N] minus their mean over groups of `group_size` neighbouring columns."""
    if group_size == 1:
        return advantages
    steps, num_envs = advantages.shape
    groups = advantages.view(steps, num_envs // group_size, group_size)
    return (groups - groups.mean(2, keepdim=True)).view(steps, num_envs)
