"""Advantages and returns of rollouts, by the policy that acted or by the current policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..config.sections.ppo import PPOConfig
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.reductions import explained_variance, normalize_advantages
from ..memory.rollout import Rollout
from ..returns.gae import Corrections, gae, policy_advantages

if TYPE_CHECKING:
    from .minibatches import StepEvaluator
    from .rows import RowEvaluator


class Advantages:
    """Estimates how much better than expected the actions of a rollout were."""

    def __init__(
        self,
        evaluator: StepEvaluator | RowEvaluator,
        section: PPOConfig,
        ranks: ProcessGroup = LOCAL,
        acts_late: bool = False,
    ) -> None:
        """With `acts_late`, the policy that acted is already one update old."""
        self._evaluator, self._section, self._ranks = evaluator, section, ranks
        self._acts_late = acts_late

    def first(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Advantages and returns [T, N] before the first epoch."""
        if rollout.others_acted:
            return self.corrected(rollout, rewards, rollout.log_probs)
        if self._acts_late and self._section.recompute_advantages != "never":
            return self.fresh(rollout, rewards)  # like the later epochs
        return self.estimates(rollout, rewards)

    def estimates(
        self, rollout: Rollout, rewards: Tensor, corrections: Corrections | None = None
    ) -> tuple[Tensor, Tensor]:
        """Advantages and returns of a rollout, each [T, N], by its stored values."""
        return gae(*self._gae_inputs(rollout, rewards), corrections)

    def _gae_inputs(
        self, rollout: Rollout, rewards: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, float, float]:
        """The arguments of `gae`."""
        return (
            rewards, rollout.values, rollout.next_values, rollout.terminated, rollout.truncated,
            self._section.gamma, self._section.gae_lambda,
        )  # fmt: skip

    def corrected(
        self, rollout: Rollout, rewards: Tensor, log_probs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Like `estimates`, with V-trace corrections: the policy's `log_probs` [T, N] may differ
        from those of the policy that acted. If teachers acted as well, a step's own ratio is not
        part of its advantage; it is in `policy_weights`.
        """
        section = self._section
        others = rollout.behaviour_log_probs if rollout.others_acted else None
        ratios = (log_probs - (rollout.log_probs if others is None else others)).exp()
        corrections = Corrections(ratios, section.rho_clip, section.c_clip)
        advantages, returns = self.estimates(rollout, rewards, corrections)
        if others is not None:
            advantages = policy_advantages(advantages, *self._gae_inputs(rollout, rewards))
        return advantages, returns

    @torch.no_grad()
    def fresh(self, rollout: Rollout, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Like `corrected`, with the values and log-probabilities of the current policy. The
        rollout's values do not change.
        """
        kept = [x.clone() for x in (rollout.values, rollout.next_values)]
        self._evaluator.fill_values(rollout)
        estimates = self.corrected(rollout, rewards, self._evaluator.log_probs(rollout))
        for x, before in zip((rollout.values, rollout.next_values), kept, strict=True):
            x.copy_(before)
        return estimates

    def policy_weights(self, rollout: Rollout) -> Tensor | None:
        """Importance weights of actions in the policy's loss [T, N]: the ratio of the policy's
        probability when it acted to that of the mixture with teachers. None if no teacher could
        act.
        """
        if not rollout.others_acted or rollout.behaviour_log_probs is None:
            return None
        ratios = (rollout.log_probs - rollout.behaviour_log_probs).exp()
        return ratios.clamp(max=self._section.rho_clip)

    def normalized(self, rollout: Rollout, advantages: Tensor) -> Tensor:
        """Advantages with mean 0 and deviation 1 over the rollout, if configured; [T, N]."""
        if self._section.normalize_advantages != "rollout":
            return advantages
        return normalize_advantages(self._ranks, advantages, rollout.valid_of(advantages))

    def explained_variance(self, rollout: Rollout, returns: Tensor) -> Tensor:
        """The fraction of the variance of `returns` [T, N] that the rollout's values predict."""
        returns, values = map(rollout.valid_of, (returns, rollout.values))
        return explained_variance(self._ranks, returns, values)
