"""Deep Q-network: double and dueling by switches.

Sources: Mnih et al. 2015, "Human-level control through deep reinforcement learning"; van Hasselt
et al. 2016, arXiv:1509.06461; Wang et al. 2016, arXiv:1511.06581.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..networks.q_network import QPolicy
from ..networks.value_network import ValueNetwork, make_value_network
from ..replay import Batch
from ..returns.losses import huber, squared
from ..returns.td import double_values, td_target
from .value_based import Losses, ValueBased

LOSSES = {"huber": huber, "squared": squared}


class DQN(ValueBased):
    """The value of the action taken goes towards the rewards and what the target network sees."""

    @staticmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> QPolicy:
        section = config.algorithm_section

        def make_network(obs_size: int, num_actions: int) -> ValueNetwork:
            return make_value_network(
                obs_size, num_actions, config.policy, seed, dueling=section.dueling
            )

        return QPolicy(spec, make_network, config.normalization.obs)

    def losses(self, batch: Batch, obs: Tensor, outputs: Tensor) -> Losses:
        next_obs = self.policy.normalizer(batch.next_obs)
        values = self.target.values(next_obs)
        if self.section.double:
            next_values = double_values(values, self.network.values(next_obs))
        else:
            next_values = values.amax(1)
        actions = batch.actions.unsqueeze(1)
        value = outputs.gather(1, actions).squeeze(1)
        error = value - td_target(batch.returns, batch.discounts, next_values)
        loss = LOSSES[self.section.loss](error)
        by_outputs = torch.zeros_like(outputs).scatter_(1, actions, loss.slopes.unsqueeze(1))
        return Losses(loss.values, error.abs(), value, by_outputs)
