"""Advantages and returns of rollouts, by the policy as it acted or as it is by now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..config import TrainConfig
from ..networks.actor_critic import ActorCritic
from ..networks.recurrent_actor_critic import RecurrentActorCritic
from ..returns.gae import Corrections, gae, policy_advantages
from ..rollout import Rollout
from .acting_teachers import ActingTeachers, Teacher
from .algorithm import Metrics
from .kickstart import Kickstart
from .on_policy import OnPolicy


class Estimating(OnPolicy):
    """What an algorithm with values and probabilities judges rollouts by; teachers may have acted
    in them.
    """

    policy: ActorCritic | RecurrentActorCritic

    def __init__(
        self, config: TrainConfig, policy: Any, teachers: Sequence[Teacher] = (), **options: Any
    ) -> None:
        """`options` are `OnPolicy`'s; `teachers` are learned from as well."""
        super().__init__(config, policy, **options)
        self.kickstart: Kickstart | None = None
        if teachers:
            device = policy.flat_parameters.device
            section = config.table("kickstart")
            self.kickstart = Kickstart(section, teachers, config.num_rows, device, self.ranks)
            if section.act_prob:
                self.kickstart.have_teachers_act(policy, config.seed, self.is_inline)

    @property
    def acting_teachers(self) -> ActingTeachers | None:
        return self.kickstart.acting if self.kickstart else None

    def explore(self, progress_fraction: Any) -> None:
        """Before each collection: how many of its steps teachers take."""
        if self.kickstart:
            self.kickstart.explore(progress_fraction)

    def update(self, rollout: Rollout, progress_fraction: Any) -> Metrics:
        if not rollout.has_values:
            self.evaluate(rollout)
        return super().update(rollout, progress_fraction)

    @torch.no_grad()
    def evaluate(self, rollout: Rollout) -> None:
        """Fill in the values of all states."""
        assert isinstance(self.policy, ActorCritic)
        values, next_values = rollout.values_by(self.policy.values)
        rollout.values.copy_(values)
        rollout.next_values.copy_(next_values)

    def log_probs(self, rollout: Rollout) -> Tensor:
        """Of the actions taken, as the policy is now: [T, N]."""
        assert isinstance(self.policy, ActorCritic)
        policy = self.policy

        def of(obs: Tensor, actions: Tensor) -> Tensor:
            return policy.distribution.log_prob_and_entropy(policy.outputs(obs), actions)[0]

        found = rollout.in_pieces(of, rollout.obs[:-1].flatten(0, 1), rollout.actions.flatten(0, 1))
        return found.view_as(rollout.log_probs)

    def estimates(
        self, rollout: Rollout, rewards: Tensor, corrections: Corrections | None = None
    ) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N]."""
        return gae(*self._gae_inputs(rollout, rewards), corrections)

    def _gae_inputs(
        self, rollout: Rollout, rewards: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, float, float]:
        """What advantages are computed from."""
        return (
            rewards, rollout.values, rollout.next_values, rollout.terminated, rollout.truncated,
            self.section.gamma, self.section.gae_lambda,
        )  # fmt: skip

    @property
    def others_acted(self) -> bool:
        """Whether actions of this rollout are not the policy's own alone."""
        return self.acting_teachers is not None and self.acting_teachers.is_on

    def corrected(
        self, rollout: Rollout, rewards: Tensor, log_probs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `estimates`, corrected for how far the policy's `log_probs` [T, N] are from those that
        actions were taken by. Where others acted as well, a step's own weight is not in its
        advantage but in `policy_weights`.
        """
        section = self.section
        others = rollout.behaviour_log_probs if self.others_acted else None
        ratios = (log_probs - (rollout.log_probs if others is None else others)).exp()
        corrections = Corrections(ratios, section.rho_clip, section.c_clip)
        advantages, returns = self.estimates(rollout, rewards, corrections)
        if others is not None:
            advantages = policy_advantages(advantages, *self._gae_inputs(rollout, rewards))
        return advantages, returns

    def policy_weights(self, rollout: Rollout) -> Tensor | None:
        """How much actions count in the policy's loss [T, N] for being its own: the ratio of its
        probability when it acted to that of all who might have; None where nobody else might.
        """
        if not self.others_acted or rollout.behaviour_log_probs is None:
            return None
        ratios = (rollout.log_probs - rollout.behaviour_log_probs).exp()
        return ratios.clamp(max=self.section.rho_clip)

    @torch.no_grad()
    def fresh_estimates(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """As `corrected`, by the values and probabilities that the policy has by now. What the
        rollout holds stays as it is.
        """
        kept = [x.clone() for x in (rollout.values, rollout.next_values)]
        self.evaluate(rollout)
        found = self.corrected(rollout, rewards, self.log_probs(rollout))
        for x, before in zip((rollout.values, rollout.next_values), kept, strict=True):
            x.copy_(before)
        return found

    def state_dict(self) -> dict[str, Any]:
        teachers = self.kickstart.state_dict() if self.kickstart else {}
        return {**super().state_dict(), **teachers}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        if self.kickstart:
            self.kickstart.load_state_dict(state)

    def forget_episodes(self) -> None:
        super().forget_episodes()
        if self.kickstart:
            self.kickstart.forget_episodes()
