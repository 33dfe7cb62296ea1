"""Quantiles of returns by regression. Source: Dabney et al. 2018, arXiv:1710.10044."""

from __future__ import annotations

from torch import Tensor

from ..memory.replay import Batch
from ..policies.q_network import QPolicy
from ..policies.value_network import QuantileHead
from ..returns.distributional import quantile_huber
from ..returns.td import td_target
from ..spaces import Spaces
from .algorithm import LearnerSettings
from .value_based import Losses, ValueBased, into_outputs, make_q_policy, of_actions


class QRDQN(ValueBased):
    """The quantiles of the action taken go towards those of the target, pair by pair."""

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> QPolicy:
        head = QuantileHead(settings.section.num_quantiles)
        return make_q_policy(settings, spec, seed, head)

    def losses(self, batch: Batch, outputs: Tensor, next_obs: Tensor) -> Losses:
        head = self.network.head
        assert isinstance(head, QuantileHead)
        next_quantiles = head.quantiles(self.target(next_obs))
        best = self.best_next(next_quantiles.mean(-1), next_obs)
        targets = td_target(
            batch.returns.unsqueeze(1),
            batch.discounts.unsqueeze(1),
            of_actions(next_quantiles, best),
        )
        quantiles = head.quantiles(outputs)
        taken = of_actions(quantiles, batch.actions)
        loss = quantile_huber(taken, head.taus, targets)
        by_outputs = into_outputs(loss.slopes, batch.actions, quantiles.shape[1])
        error = (taken.mean(1) - targets.mean(1)).abs()
        return Losses(loss.values, error, loss.values, taken.mean(1), by_outputs)
