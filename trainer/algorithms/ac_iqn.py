"""An actor that follows a critic of implicit quantiles: MarineNav's AC-IQN.

Source: Lin et al. 2024, arXiv:2412.09466.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..memory.replay import Batch
from ..policies.draws import Kind
from ..policies.implicit_quantiles import NUM_ACTING, QuantileCritic, make_quantile_critic
from ..policies.value_network import middles
from ..returns.distributional import quantile_huber
from ..returns.td import td_target
from .actor_critic import CriticLosses
from .algorithm import Metrics
from .td3 import TD3


class ACIQN(TD3):
    """Quantiles of the return at random fractions go towards the target's at others; the actor
    moves to where their mean over fractions below `risk` is higher.
    """

    critics: QuantileCritic
    target_critics: QuantileCritic

    def drawn(self) -> dict[str, tuple[Kind, tuple[int, ...]]]:
        shape = (3, self.section.batch_size, self.section.num_quantiles)
        return {**super().drawn(), "taus": ("uniform", shape)}

    def make_critics(self, seed: int) -> QuantileCritic:
        policy = self.policy
        return make_quantile_critic(
            policy.obs_size,
            policy.action_size,
            self.settings.policy,
            seed,
            policy.make_encoder(seed),
        )

    def critic_losses(self, batch: Batch, obs: Tensor, next_obs: Tensor) -> CriticLosses:
        taus, next_taus, self._actor_taus = self.next_draw("taus", dim=1)
        next_quantiles = self.target_critics(next_obs, self.next_actions(next_obs), next_taus)
        targets = td_target(
            batch.returns.unsqueeze(1), batch.discounts.unsqueeze(1), next_quantiles
        )
        quantiles, tape = self.critics.taped(obs, batch.actions, taus)
        loss = quantile_huber(quantiles, taus, targets)
        slopes = loss.slopes * (batch.weights / len(batch)).unsqueeze(1)
        return CriticLosses(
            loss=loss.values.mean(),
            value=quantiles.mean(),
            errors=(quantiles.mean(1) - targets.mean(1)).abs(),
            priorities=loss.values,
            gradient=self.critics.gradient(tape, self.critic_scale.up(slopes)),
        )

    def values_of(self, obs: Tensor, actions: Tensor) -> Tensor:
        taus = middles(NUM_ACTING).to(obs.device).expand(len(obs), -1)
        quantiles: Tensor = self.critics(obs, actions, taus)
        return quantiles.mean(1)

    def learn_actor(self, obs: Tensor, rate: Any, active: Tensor | None) -> Metrics:
        actions, tape = self.policy.taped(obs)
        taus = self._actor_taus * self.section.risk
        quantiles, critic_tape = self.critics.taped(obs, actions, taus)
        by_quantiles = quantiles.new_full(quantiles.shape, -1 / quantiles.numel())
        by_actions = self.critics.action_gradient(critic_tape, self.actor_scale.up(by_quantiles))
        gradient = self.policy.gradient(tape, by_actions)
        return self.step_actor(gradient, -quantiles.mean(), rate, active)
