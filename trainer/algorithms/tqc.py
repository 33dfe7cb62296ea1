"""Truncated quantile critics. Source: Kuznetsov et al. 2020, arXiv:2005.04269."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..memory.replay import Batch
from ..policies.actor import SquashedGaussianActor
from ..policies.value_network import middles
from ..returns.distributional import quantile_huber, truncated
from ..returns.losses import Loss
from ..returns.td import td_target
from .actor_critic import CriticLosses
from .algorithm import LearnerSettings
from .sac import SAC


class TQC(SAC):
    """SAC with critics that estimate quantiles of the return. The target pools the quantiles of all
    critics and drops the largest, which controls overestimation more finely than a minimum.
    """

    def __init__(
        self, settings: LearnerSettings, policy: SquashedGaussianActor, **options: Any
    ) -> None:
        super().__init__(settings, policy, **options)
        self.taus = middles(self.section.num_quantiles).to(policy.flat_parameters.device)

    @property
    def num_critic_outputs(self) -> int:
        quantiles: int = self.section.num_quantiles
        return quantiles

    def critic_losses(self, batch: Batch, obs: Tensor, next_obs: Tensor) -> CriticLosses:
        drawn = self.policy.draw(next_obs, self.next_draw("normals"))
        next_quantiles, _ = self.target_critics.taped(next_obs, drawn.actions)
        kept = truncated(next_quantiles, self.section.dropped_quantiles)
        targets = td_target(
            batch.returns.unsqueeze(1),
            batch.discounts.unsqueeze(1),
            kept - (self.alpha * drawn.log_probs).unsqueeze(1),
        )
        quantiles, tape = self.critics.taped(obs, batch.actions)  # [critics, B, M]
        num_critics, batch_size, num_quantiles = quantiles.shape
        loss = quantile_huber(quantiles, self.taus, targets)
        mean_of_quantiles = 1 / (num_critics * num_quantiles)
        slopes = loss.slopes * (batch.weights * (mean_of_quantiles / batch_size)).unsqueeze(1)
        losses = loss.values.sum(0) * mean_of_quantiles
        return CriticLosses(
            loss=losses.mean(),
            value=quantiles.mean(),
            errors=(quantiles.mean((0, 2)) - targets.mean(1)).abs(),
            priorities=losses,
            gradient=self.critics.gradient(tape, self.critic_scale.up(slopes)),
        )

    def values_of(self, obs: Tensor, actions: Tensor) -> Tensor:
        quantiles: Tensor = self.critics.taped(obs, actions)[0]
        return quantiles.mean((0, 2))

    def value_of_outputs(self, outputs: Tensor) -> Loss:
        num_critics, _, num_quantiles = outputs.shape
        slopes = torch.full_like(outputs, 1 / (num_critics * num_quantiles))
        return Loss(outputs.mean((0, 2)), slopes)
