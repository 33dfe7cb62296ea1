"""Parallelised Q-network: Q(lambda) over rollouts, with neither replay nor target network.

Source: Gallici et al. 2024, "Simplifying deep temporal difference learning", arXiv:2407.04811.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..networks.q_network import QPolicy
from ..networks.value_network import ValueNetwork, make_layer_norm_network
from ..returns.q_lambda import q_lambda
from ..rollout import Rollout
from .algorithm import Metrics, scaled_down
from .exploring import epsilon_at
from .on_policy import OnPolicy
from .samplers import Parts, Shuffled


class PQN(OnPolicy):
    """Epochs of minibatches over one rollout; layer norm keeps the values from drifting."""

    policy: QPolicy

    @staticmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> QPolicy:
        def make_network(obs_size: int, num_actions: int) -> ValueNetwork:
            return make_layer_norm_network(obs_size, num_actions, config.policy, seed)

        return QPolicy(spec, make_network, config.normalization.obs)

    @staticmethod
    def loss(
        policy: QPolicy, obs: Tensor, actions: Tensor, returns: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Half the mean squared error of Q(s, a) against the returns [B], and the mean of Q(s, a).

        Nothing of the algorithm itself: torch.compile may be asked for it.
        """
        values = policy.values(obs).gather(1, actions.unsqueeze(1)).squeeze(1)
        return 0.5 * (values - returns).square().mean(), values.detach().mean()

    def __init__(self, config: TrainConfig, policy: Any, **options: Any) -> None:
        """As `OnPolicy`'s."""
        super().__init__(config, policy, **options)
        self._loss_of = self.compiled(self.loss)
        self.sampler = self.ranks.sharing(Shuffled(self.orders), self.section, False)

    @property
    def loops(self) -> tuple[Any, ...]:
        return (self._loss_of,) if self.config.compile else ()

    def warm_up(self, rollout: Rollout) -> None:
        obs = rollout.valid_of(rollout.obs_or_places)
        index = torch.arange(len(obs) // self.section.num_minibatches, device=obs.device)
        actions, returns = map(rollout.valid_of, (rollout.actions, rollout.rewards))
        seen = rollout.obs_at(obs[index])
        loss, _ = self._loss_of(self.policy, seen, actions[index], returns[index])
        self.flat_gradient(loss)

    def explore(self, progress_fraction: Any) -> None:
        """Explore less as the run goes on, linearly, down to the part that stays."""
        epsilon = epsilon_at(self.section, progress_fraction)
        self.policy.epsilon.copy_(torch.as_tensor(epsilon))

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        section, policy = self.section, self.policy
        with torch.no_grad():
            _, next_values = rollout.values_by(lambda obs: policy.values(obs).amax(-1))
            returns = q_lambda(
                rewards, next_values, rollout.terminated, rollout.truncated,
                section.gamma, section.q_lambda,
            )  # fmt: skip
        tensors = (rollout.obs_or_places, rollout.actions, returns)
        obs, actions, returns = map(rollout.valid_of, tensors)
        parts = Parts(len(obs))
        self.sampler.begin(rollout)
        self.draw_from_now(rollout)
        rate = self.learning_rate(progress_fraction)
        means, norms = [], []
        for _ in range(section.num_epochs):
            drawn = self.sampler.epoch(parts, section.num_minibatches, progress_fraction)
            fetched = self.with_obs(rollout, drawn, lambda index: obs[index])
            for index, _, fetched_obs in fetched:
                seen = obs[index] if fetched_obs is None else fetched_obs
                gradient, found = self._gradient(seen, actions[index], returns[index])
                norms.append(scaled_down(gradient, section.max_grad_norm))
                moves = self.moving(norms[-1], None, rollout)
                self.optimizer.step(gradient, rate, moves)
                means.append(found)
                self.tick()
        loss, mean_value = torch.stack(means, 1)
        return {
            "loss/value": loss.mean(),
            "value/mean": mean_value.mean(),
            "exploration/epsilon": policy.epsilon,
            "optimizer/grad_norm": torch.stack(norms).mean(),
            "optimizer/learning_rate": rate,
        }

    def _gradient(self, obs: Tensor, actions: Tensor, returns: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient [P] of a minibatch's loss, and that and the mean of Q [2]: of all ranks'
        samples.
        """

        def work() -> tuple[Tensor, Tensor]:
            loss, mean_value = self._loss_of(self.policy, obs, actions, returns)
            return self.flat_gradient(loss), torch.stack([loss.detach(), mean_value])

        like = self.policy.flat_parameters
        gradient, means = self.ranks.mean_of(len(obs), work, like, 2)
        return gradient, means
