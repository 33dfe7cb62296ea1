"""Deep Q-network: double and dueling by switches.

Sources: Mnih et al. 2015, "Human-level control through deep reinforcement learning"; van Hasselt
et al. 2016, arXiv:1509.06461; Wang et al. 2016, arXiv:1511.06581.
"""

from __future__ import annotations

from torch import Tensor

from ..memory.replay import Batch
from ..policies.q_network import QPolicy
from ..returns.losses import LOSSES
from ..returns.td import td_target
from ..spaces import Spaces
from .algorithm import LearnerSettings
from .value_based import Losses, ValueBased, into_outputs, make_q_policy


class DQN(ValueBased):
    """The value of the action taken goes towards the rewards and what the target network sees."""

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> QPolicy:
        return make_q_policy(settings, spec, seed)

    def losses(self, batch: Batch, outputs: Tensor, next_obs: Tensor) -> Losses:
        values = self.target.values(next_obs)
        best = self.best_next(values, next_obs).unsqueeze(1)
        target = td_target(batch.returns, batch.discounts, values.gather(1, best).squeeze(1))
        value = outputs.gather(1, batch.actions.unsqueeze(1)).squeeze(1)
        loss = LOSSES[self.section.loss](error := value - target)
        by_outputs = into_outputs(loss.slopes.unsqueeze(1), batch.actions, outputs.shape[1])
        distance = error.abs()
        return Losses(loss.values, distance, distance, value, by_outputs)
