"""Parallelised Q-network: Q(lambda) over rollouts, with neither replay nor target network.

Source: Gallici et al. 2024, "Simplifying deep temporal difference learning", arXiv:2407.04811.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import torch
from torch import Tensor

from ..config.sections.pqn import PQNConfig
from ..distributed.reductions import mean_gradient
from ..distributed.sampler import distributed_sampler
from ..machine.values import Scalar
from ..memory.rollout import Rollout
from ..memory.samplers import Shuffled, first_parts
from ..policies.encoder import make_encoder
from ..policies.q_network import QPolicy
from ..policies.value_network import ValueNetwork, make_layer_norm_network
from ..returns.q_lambda import q_lambda
from ..spaces import Spaces
from .algorithm import LearnerSettings, Metrics, Options, epsilon_at
from .on_policy import OnPolicy, flat_gradient
from .optimizer import scaled_down


class Returns(NamedTuple):
    """Observations [B, D], the actions [B] taken there, and the returns that followed."""

    obs: Tensor
    actions: Tensor
    returns: Tensor

    @property
    def num_parts(self) -> int:
        return len(self.returns)

    def at(self, index: Tensor) -> Returns:
        return Returns(*(x[index] for x in self))


class PQN(OnPolicy):
    """Epochs of minibatches over one rollout; layer norm keeps the values from drifting."""

    policy: QPolicy
    section: PQNConfig

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> QPolicy:
        def make_network(obs_size: int, num_actions: int) -> ValueNetwork:
            encoder = make_encoder(
                settings.policy, spec, seed, from_replay=False, orthogonal=True, layer_norm=True
            )
            return make_layer_norm_network(obs_size, num_actions, settings.policy, seed, encoder)

        return QPolicy(spec, make_network, settings.normalization.obs)

    @staticmethod
    def loss(
        policy: QPolicy, obs: Tensor, actions: Tensor, returns: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Half the mean squared error of Q(s, a) against the returns [B], and the mean of Q(s, a).

        It uses only its arguments, so that torch.compile can compile it.
        """
        values = policy.values(obs).gather(1, actions.unsqueeze(1)).squeeze(1)
        return 0.5 * (values - returns).square().mean(), values.detach().mean()

    def __init__(
        self, settings: LearnerSettings, policy: QPolicy, **options: Unpack[Options]
    ) -> None:
        """The arguments are those of `OnPolicy`."""
        super().__init__(settings, policy, **options)
        self._loss_of = self.compiled(self.loss)
        sampler = Shuffled(self.orders)
        self.sampler = distributed_sampler(self.ranks, sampler, self.section, normalizes=False)

    @property
    def loops(self) -> tuple[Any, ...]:
        return (self._loss_of,) if self.settings.compile else ()

    def warm_up(self, rollout: Rollout) -> None:
        tensors = (rollout.obs[:-1], rollout.actions, rollout.rewards)
        batch = Returns(*map(rollout.valid_of, tensors))
        index = first_parts(batch.num_parts, self.section.num_minibatches, self.device)
        loss, _ = self._loss_of(self.policy, *batch.at(index))
        flat_gradient(loss, self.parameters)

    def explore(self, progress_fraction: Scalar) -> None:
        """Explore less as the run goes on, linearly, down to the part that stays."""
        epsilon = epsilon_at(self.section, progress_fraction)
        self.policy.epsilon.copy_(torch.as_tensor(epsilon))

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Scalar) -> Metrics:
        section, policy = self.section, self.policy
        with torch.no_grad():
            _, next_values = rollout.values_by(lambda obs: policy.values(obs).amax(-1))
            returns = q_lambda(
                rewards,
                next_values,
                rollout.terminated,
                rollout.truncated,
                section.gamma,
                section.q_lambda,
            )
        tensors = (rollout.obs[:-1], rollout.actions, returns)
        batch = Returns(*map(rollout.valid_of, tensors))
        rate = self.learning_rate(progress_fraction)
        means, norms = [], []
        self.sampler.begin(rollout)
        for _ in range(section.num_epochs):
            epoch = self.sampler.epoch(batch, section.num_minibatches, progress_fraction)
            for index, _ in epoch:
                gradient, minibatch_means = self._gradient(batch.at(index))
                norms.append(scaled_down(gradient, section.max_grad_norm))
                self.optimizer.step(gradient, rate, self.moving(norms[-1], None, rollout))
                means.append(minibatch_means)
                self.tick()
        loss, mean_value = torch.stack(means, 1)
        return {
            "loss/value": loss.mean(),
            "value/mean": mean_value.mean(),
            "exploration/epsilon": policy.epsilon,
            "optimizer/grad_norm": torch.stack(norms).mean(),
            "optimizer/learning_rate": rate,
        }

    def _gradient(self, minibatch: Returns) -> tuple[Tensor, Tensor]:
        """The gradient [P] of a minibatch's loss, and that and the mean of Q [2]: of all ranks'
        samples.
        """

        def work() -> tuple[Tensor, Tensor]:
            loss, mean_value = self._loss_of(self.policy, *minibatch)
            return flat_gradient(loss, self.parameters), torch.stack([loss.detach(), mean_value])

        like = self.policy.flat_parameters
        return mean_gradient(self.ranks, minibatch.num_parts, work, like, 2)
