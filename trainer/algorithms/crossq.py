"""CrossQ: batch renormalisation in place of target networks.

Source: Bhatt et al. 2024, arXiv:1902.05605.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..machine.values import State
from ..memory.replay import Batch
from ..policies.actor import Drawn, SquashedGaussianActor
from ..policies.network import Network
from ..policies.renormalized import RenormCritics, RenormNetwork
from ..returns.td import soft_value, td_target
from ..settings.policy import PolicyConfig
from ..spaces import Spaces
from .actor_critic import CriticLosses, actor_options
from .algorithm import LearnerSettings, Metrics
from .sac import SAC

BETA_1 = 0.5  # of Adam


class CrossQActor(SquashedGaussianActor):
    """A squashed Gaussian actor whose network is renormalised."""

    network: RenormNetwork

    def _make_network(self, obs_size: int, config: PolicyConfig, seed: int) -> Network:
        sizes = (obs_size, *config.hidden_sizes, self.outputs_per_action * self.action_size)
        return RenormNetwork(sizes, config.activation, seed=seed)

    def draw_batch(self, obs: Tensor, noise: Tensor) -> Drawn:
        """`draw` with the moments of the batch `obs` in place of the running ones."""
        return self.drawn_from(*self.network.taped_batch(obs), noise)


class CrossQ(SAC):
    """SAC without target networks. One pass of the critics has a minibatch and the states after it,
    so that both are normalised by the moments of their mixture.
    """

    policy: CrossQActor
    critics: RenormCritics

    def __init__(self, settings: LearnerSettings, policy: CrossQActor, **options: Any) -> None:
        super().__init__(settings, policy, **options)
        self.target_critics = self.critics
        for optimizer in self.optimizers:
            optimizer.beta_1 = BETA_1

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> CrossQActor:
        arguments = (spec, settings.policy, settings.normalization.obs, seed)
        return CrossQActor(*arguments, **actor_options(settings))

    def make_critics(self, seed: int) -> RenormCritics:
        policy, config = self.policy, self.settings.policy
        sizes = (policy.obs_size + policy.action_size, *config.hidden_sizes, 1)
        return RenormCritics(sizes, config.activation, self.num_critics, seed=seed)

    def before_critics(self, obs: Tensor) -> Metrics:
        torch.exp(self.log_alpha, out=self.alpha)
        return {"policy/alpha": self.alpha.clone()[0]}

    def critic_losses(self, batch: Batch, obs: Tensor, next_obs: Tensor) -> CriticLosses:
        drawn = self.policy.draw(next_obs, self.next_draw("normals"))
        all_obs = torch.cat([obs, next_obs])
        all_values, tape = self.critics.taped_batch(
            all_obs, torch.cat([batch.actions, drawn.actions])
        )
        values, next_values = all_values.chunk(2, 1)
        soft = soft_value(next_values, drawn.log_probs, self.alpha)
        target = td_target(batch.returns, batch.discounts, soft)
        loss = self.loss_of(values - target)
        slopes = loss.slopes * (batch.weights / len(batch))
        errors = (values - target).abs().amax(0)
        by_outputs = torch.cat([slopes, torch.zeros_like(slopes)], 1)  # the target is constant
        return CriticLosses(
            loss=loss.values.mean() * self.num_critics,
            value=values.mean(),
            errors=errors,
            priorities=errors,
            gradient=self.critics.gradient(tape, self.critic_scale.up(by_outputs)),
        )

    def after_critics(self, figures: Metrics, rate: Any, active: Tensor | None) -> None:
        self.critics.follow_batch(active)

    def learn_actor(self, obs: Tensor, rate: Any, active: Tensor | None) -> Metrics:
        """Alpha moves with the actor."""
        drawn = self._drawn = self.policy.draw_batch(obs, self.next_draw("normals"))
        figures = {"policy/entropy": -drawn.log_probs.mean()}
        super().after_critics(figures, rate, active)
        self.policy.network.follow_batch(active)
        return {**figures, **super().learn_actor(obs, rate, active)}

    @property
    def targets(self) -> tuple[tuple[Network, Network], ...]:
        return ()

    def state_dict(self) -> State:
        return {**super().state_dict(), "critic_moments": self.critics.moments.cpu()}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.critics.load_moments(state["critic_moments"])
