"""Soft actor-critic. Source: Haarnoja et al. 2018, arXiv:1812.05905."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..policies.actor import Drawn, SquashedGaussianActor, StateDependentActor
from ..returns.losses import Loss, smallest
from ..returns.td import soft_value
from ..spaces import Spaces
from .actor_critic import OffPolicyActorCritic, actor_options
from .algorithm import LearnerSettings, Metrics
from .off_policy import ADAM_EPSILON
from .optimizer import FlatAdam

FIRST_ALPHA = 1.0  # where it is tuned


class SAC(OffPolicyActorCritic):
    """Rewards and alpha times the policy's entropy are what counts; alpha is learned so that the
    entropy becomes minus the number of actions, or stays as configured.
    """

    policy: SquashedGaussianActor
    saved = (*OffPolicyActorCritic.saved, "log_alpha", "alpha_optimizer")

    def __init__(
        self, settings: LearnerSettings, policy: SquashedGaussianActor, **options: Any
    ) -> None:
        super().__init__(settings, policy, **options)
        self._tunes_alpha = self.section.alpha == "auto"
        start = FIRST_ALPHA if self._tunes_alpha else self.section.alpha
        self.log_alpha = torch.full((1,), math.log(start), device=policy.flat_parameters.device)
        self.alpha = torch.full_like(self.log_alpha, start)
        self.alpha_optimizer = FlatAdam(self.log_alpha, ADAM_EPSILON)
        target = self.section.target_entropy
        self.target_entropy = -policy.action_size if target is None else target
        self._drawn: Drawn | None = None  # of the update under way

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> SquashedGaussianActor:
        section = settings.section
        arguments = (spec, settings.policy, settings.normalization.obs, seed)
        if section.exploration == "state_dependent":
            std = section.exploration_std
            return StateDependentActor(
                *arguments, num_rows=settings.num_rows, std=std, **actor_options(settings)
            )
        return SquashedGaussianActor(*arguments, **actor_options(settings))

    def before_critics(self, obs: Tensor) -> Metrics:
        """Draw the actor's actions."""
        drawn = self._drawn = self.policy.draw(obs, self.next_draw("normals"))
        torch.exp(self.log_alpha, out=self.alpha)
        return {"policy/entropy": -drawn.log_probs.mean(), "policy/alpha": self.alpha.clone()[0]}

    def after_critics(self, figures: Metrics, rate: Any, active: Tensor | None) -> None:
        """Move alpha by the actions' log-probabilities."""
        if self._tunes_alpha:
            # d/d log alpha of -log alpha * (log pi + target entropy)
            gradient = figures["policy/entropy"].view(1) - self.target_entropy
            self.alpha_optimizer.step(gradient, rate, active)

    def next_values(self, next_obs: Tensor) -> Tensor:
        drawn = self.policy.draw(next_obs, self.next_draw("normals"))
        values, _ = self.target_critics.taped(next_obs, drawn.actions)
        return soft_value(values, drawn.log_probs, self.alpha)

    def learn_actor(self, obs: Tensor, rate: Any, active: Tensor | None) -> Metrics:
        drawn = self._drawn
        assert drawn  # from `before_critics`
        outputs, tape = self.critics.taped(obs, drawn.actions)
        value = self.value_of_outputs(outputs)
        by_outputs = self.actor_scale.up(value.slopes * (-1 / len(obs)))
        by_actions = self.critics.action_gradient(tape, by_outputs)
        by_log_probs = self.actor_scale.up(self.alpha / len(obs)).expand(len(obs))
        gradient = self.policy.gradient(drawn, by_actions, by_log_probs)
        loss = (self.alpha * drawn.log_probs - value.values).mean()
        return self.step_actor(gradient, loss, rate, active)

    def value_of_outputs(self, outputs: Tensor) -> Loss:
        """The value [B] of the critics' outputs that the actor maximises, and its derivatives."""
        return smallest(outputs)
