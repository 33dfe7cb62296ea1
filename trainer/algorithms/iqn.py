"""Implicit quantile networks. Source: Dabney et al. 2018, arXiv:1806.06923."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..memory.replay import Batch
from ..policies.draws import Kind
from ..policies.encoder import make_encoder
from ..policies.implicit_quantiles import ImplicitQuantiles, make_implicit_quantiles
from ..policies.mlp import DTYPES
from ..policies.policy import masked
from ..policies.q_network import QPolicy
from ..returns.distributional import quantile_huber
from ..returns.td import td_target
from ..spaces import Spaces
from .algorithm import LearnerSettings
from .value_based import Losses, ValueBased, of_actions


class IQN(ValueBased):
    """Quantiles at random fractions go towards the target's at others; acting takes their mean over
    the fractions below `risk`.
    """

    network: ImplicitQuantiles

    def __init__(self, settings: LearnerSettings, policy: QPolicy, **options: Any) -> None:
        super().__init__(settings, policy, **options)
        self.network.risk.fill_(self.section.risk)

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> QPolicy:
        section = settings.section

        def make_network(obs_size: int, num_actions: int) -> ImplicitQuantiles:
            return make_implicit_quantiles(
                obs_size,
                num_actions,
                settings.policy,
                seed,
                dueling=section.dueling,
                noisy_std=section.noisy_std or None,
                layer_norm=section.layer_norm,
                encoder=make_encoder(settings.policy, spec, seed, layer_norm=section.layer_norm),
            )

        return QPolicy(
            spec,
            make_network,
            settings.normalization.obs,
            DTYPES[settings.policy.precision],
            settings.num_rows,
        )

    def drawn(self) -> dict[str, tuple[Kind, tuple[int, ...]]]:
        shape = (2, self.section.batch_size, self.section.num_quantiles)
        return {**super().drawn(), "taus": ("uniform", shape)}

    def inputs(self, obs: Tensor) -> tuple[Tensor, ...]:
        self._taus, self._next_taus = self.next_draw("taus", dim=1)
        return obs, self._taus

    def online_values(self, obs: Tensor) -> Tensor:
        """The mean over all fractions: `risk` is for acting alone."""
        return self.network.expected_values(obs)

    def losses(self, batch: Batch, outputs: Tensor, next_obs: Tensor) -> Losses:
        next_quantiles = self.target(next_obs, self._next_taus)
        mask_size = self.policy.mask_size
        next_quantiles = masked(next_quantiles, next_obs.unsqueeze(1), mask_size).mT  # [B, A, N']
        if self.section.best_by == "quantile":
            best_quantiles = next_quantiles.amax(1)
        else:
            best = self.best_next(next_quantiles.mean(-1), next_obs)
            best_quantiles = of_actions(next_quantiles, best)
        targets = td_target(
            batch.returns.unsqueeze(1), batch.discounts.unsqueeze(1), best_quantiles
        )
        index = batch.actions.view(-1, 1, 1).expand(-1, outputs.shape[1], 1)
        taken = outputs.gather(2, index).squeeze(2)
        loss = quantile_huber(taken, self._taus, targets)
        by_outputs = outputs.new_zeros(outputs.shape).scatter_(2, index, loss.slopes.unsqueeze(2))
        error = (taken.mean(1) - targets.mean(1)).abs()
        return Losses(loss.values, error, loss.values, taken.mean(1), by_outputs)
