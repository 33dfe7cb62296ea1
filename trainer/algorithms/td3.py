"""Twin delayed deep deterministic policy gradient.

Source: Fujimoto et al. 2018, arXiv:1802.09477.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..policies.actor import DeterministicActor
from ..policies.network import Network
from ..spaces import Spaces
from .actor_critic import OffPolicyActorCritic, actor_options
from .algorithm import LearnerSettings, Metrics


class TD3(OffPolicyActorCritic):
    """The smaller of two critics judges the target's action, which is smoothed by noise; the actor
    and the targets move with every `policy_delay`th update.
    """

    policy: DeterministicActor
    saved = (*OffPolicyActorCritic.saved, "target_actor")
    squared_weight = 2.0

    def __init__(
        self, settings: LearnerSettings, policy: DeterministicActor, **options: Any
    ) -> None:
        super().__init__(settings, policy, **options)
        self.target_actor = policy.network.frozen_copy()

    @property
    def targets(self) -> tuple[tuple[Network, Network], ...]:
        return (*super().targets, (self.target_actor, self.policy.network))

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> DeterministicActor:
        return DeterministicActor(
            spec,
            settings.policy,
            settings.normalization.obs,
            seed,
            std=settings.section.exploration_std,
            **actor_options(settings),
        )

    def next_actions(self, next_obs: Tensor) -> Tensor:
        """The target's actions [B, A], smoothed by noise where that is wanted."""
        actions = self.policy.squash.forward(self.target_actor(next_obs))
        if self.section.smoothing_std:
            clip = self.section.smoothing_clip
            noise = (self.next_draw("normals") * self.section.smoothing_std).clamp_(-clip, clip)
            actions = actions.add_(noise).clamp_(-1, 1)
        return actions

    def next_values(self, next_obs: Tensor) -> Tensor:
        values, _ = self.target_critics.taped(next_obs, self.next_actions(next_obs))
        return values.amin(0)

    def learn_actor(self, obs: Tensor, rate: Any, active: Tensor | None) -> Metrics:
        actions, tape = self.policy.taped(obs)
        values, critic_tape = self.critics.taped(obs, actions)
        by_values = torch.zeros_like(values)
        by_values[0] = -1 / len(obs)  # the first critic alone
        by_actions = self.critics.action_gradient(critic_tape, self.actor_scale.up(by_values))
        gradient = self.policy.gradient(tape, by_actions)
        return self.step_actor(gradient, -values[0].mean(), rate, active)
