"""Learning from teachers beside learning from rewards: policies that were trained before.

Source: Schmitt et al. 2018, "Kickstarting deep reinforcement learning", arXiv:1803.03835.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..distributions.protocol import Distribution
from ..networks.recurrent_actor_critic import RecurrentActorCritic
from ..ranks.single import SINGLE, Ranks
from ..rollout import Rollout
from .acting_teachers import ActingTeachers, Teacher


class Kickstart:
    """Draws a policy towards `teachers`, less and less, until a part of the run is over.

        loss = policy_coef * KL(teacher, policy) + value_coef * (V_teacher - V)^2

    of every sample, summed over teachers. The cross-entropy to a teacher differs from the
    divergence by its own entropy alone, which no weight changes.
    """

    def __init__(
        self,
        section: Any,
        teachers: Sequence[Teacher],
        num_rows: int,
        device: torch.device,
        ranks: Ranks = SINGLE,
    ) -> None:
        """Moves teachers to `device`. What those with memory know of the episodes of the rows here,
        of the `num_rows` of all `ranks`, is kept here.
        """
        self._ranks, self._num_rows = ranks, num_rows
        self._section, self._teachers = section, tuple(teachers)
        for teacher in self._teachers:
            teacher.to_device(device)
        self._states = [
            torch.zeros(ranks.own_size(num_rows), teacher.state_size, device=device)
            for teacher in self._teachers
        ]
        self.acting: ActingTeachers | None = None

    def have_teachers_act(self, policy: Teacher, seed: int, is_inline: bool) -> None:
        """From the next rollout on, `act_prob` of the steps times the factor."""
        first_row = int(self._ranks.own_part(torch.arange(self._num_rows))[0])
        self.acting = ActingTeachers(
            policy, self._teachers, self._states, seed, is_inline, first_row
        )

    def explore(self, progress_fraction: Any) -> None:
        """Before each collection."""
        if self.acting:
            self.acting.set_prob(self._section.act_prob * self.factor(progress_fraction))

    def factor(self, progress_fraction: Any) -> Any:
        """1 at first; over the last `fade_fraction` of `until_fraction` it falls to 0."""
        until, fade = self._section.until_fraction, self._section.fade_fraction
        progress = torch.as_tensor(progress_fraction, dtype=torch.float32)
        if not fade:
            return (progress < until).float()
        return ((until - progress) / (until * fade)).clamp(0.0, 1.0)

    @torch.no_grad()
    def told(self, rollout: Rollout) -> Tensor:
        """What teachers say of every state acted in: [T, N, K (outputs + 1)], each one's outputs of
        the distribution, then its value. Those that act have said so by then.
        """
        if self.acting and rollout.told is not None:
            return rollout.told
        return torch.cat([self._told_by(i, rollout) for i in range(len(self._teachers))], -1)

    def _told_by(self, number: int, rollout: Rollout) -> Tensor:
        teacher, obs = self._teachers[number], rollout.on_device(rollout.obs[:-1])
        if isinstance(teacher, RecurrentActorCritic):
            resets, state = rollout.resets(), self._states[number]
            parts = teacher.over_rows(obs, state, resets)
            seen = parts[0]
            state.copy_(torch.cat(parts, -1)[-1].masked_fill(resets[-1].unsqueeze(-1), 0.0))
        else:
            seen = obs
        flat = seen.flatten(0, 1)
        told = torch.cat([teacher.outputs(flat), teacher.values(flat).unsqueeze(-1)], -1)
        return told.view(*obs.shape[:2], -1)

    def loss_sum(
        self, distribution: Distribution, outputs: Tensor, values: Tensor, told: Tensor | None
    ) -> Tensor:
        """The loss of all samples, summed, of outputs [B, O] and values [B] of the policy and what
        teachers told [B, K (O + 1)]; 0 where they were not asked.
        """
        section, total = self._section, values.new_zeros(())
        if told is None:
            return total
        for one in torch.split(told, distribution.num_outputs + 1, -1):
            if section.policy_coef:
                divergence = distribution.kl(one[..., :-1], outputs).sum()
                total = total + section.policy_coef * divergence
            if section.value_coef:
                squares = (one[..., -1] - values).square().sum()
                total = total + section.value_coef * squares
        return total

    def forget_episodes(self) -> None:
        """The episodes under way are no more."""
        for state in self._states:
            state.zero_()

    def state_dict(self) -> dict[str, Any]:
        return {"teachers": [self._ranks.gathered(state.cpu().clone()) for state in self._states]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for mine, saved in zip(self._states, state["teachers"], strict=True):
            mine.copy_(self._ranks.own_part(saved))
