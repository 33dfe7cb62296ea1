"""Kickstarting: learning from previously trained teachers in addition to rewards.

Source: Schmitt et al. 2018, "Kickstarting deep reinforcement learning", arXiv:1803.03835.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ...config.sections.kickstart import KickstartConfig
from ...distributed.process_group import LOCAL, ProcessGroup
from ...machine.values import Scalar, State
from ...memory.rollout import Rollout
from ...policies.actor_critic import ActorCritic
from ...policies.recurrent_actor_critic import RecurrentActorCritic
from ..minibatches import Evaluation, Minibatch
from .auxiliary_loss import AuxiliaryLoss

FADE_FRACTION = 0.5

Teacher = ActorCritic | RecurrentActorCritic


class Kickstart(AuxiliaryLoss):
    """Draws a policy towards `teachers`, less and less, until a part of the run is over.

        loss = policy_coef * KL(teacher, policy) + value_coef * (V_teacher - V)^2

    of every sample, summed over teachers. The cross-entropy to a teacher differs from the
    divergence by its own entropy alone, which no weight changes.
    """

    name, metric = "teacher_outputs", "loss/kickstart"

    def __init__(
        self,
        section: KickstartConfig,
        teachers: Sequence[Teacher],
        policy: Teacher,
        num_rows: int,
        ranks: ProcessGroup = LOCAL,
        asks_always: bool = True,
    ) -> None:
        """Moves teachers to the device of the `policy`. The states of recurrent teachers are kept
        here, for the rows of this rank among the `num_rows` of all `ranks`. Unless `asks_always`,
        teachers are no longer evaluated once their weight is 0.
        """
        self._ranks, self._rows = ranks, ranks.my_rows(num_rows)
        self._asks_always = asks_always
        self._section, self._teachers = section, tuple(teachers)
        self._distribution = policy.distribution
        device = policy.flat_parameters.device
        for teacher in self._teachers:
            teacher.to_device(device)
        self._states = [
            torch.zeros(len(self._rows), teacher.state_size, device=device)
            for teacher in self._teachers
        ]

    def factor(self, progress_fraction: Scalar) -> Tensor:
        """1 at first; it falls to 0 over the last `FADE_FRACTION` of `until_fraction`."""
        until = self._section.until_fraction
        progress = torch.as_tensor(progress_fraction, dtype=torch.float32)
        return ((until - progress) / (until * FADE_FRACTION)).clamp(0.0, 1.0)

    def begin(self, rollout: Rollout, progress_fraction: Scalar) -> None:
        self.weight = self.factor(progress_fraction)
        is_asked = self._asks_always or bool(self.weight)
        self.data = self.teacher_outputs(rollout) if is_asked else None

    @torch.no_grad()
    def teacher_outputs(self, rollout: Rollout) -> Tensor:
        """The outputs of teachers for every state of the rollout [T, N, K (outputs + 1)]: for each
        teacher the outputs of its distribution, then its value.
        """
        return torch.cat([self._outputs_of(i, rollout) for i in range(len(self._teachers))], -1)

    def _outputs_of(self, number: int, rollout: Rollout) -> Tensor:
        teacher, obs = self._teachers[number], rollout.obs[:-1]
        if isinstance(teacher, RecurrentActorCritic):
            resets, state = rollout.resets(), self._states[number]
            parts = teacher.over_rows(obs, state, resets)
            seen = parts[0]
            last = teacher.states_of(parts)[-1]
            state.copy_(last.masked_fill(resets[-1].unsqueeze(-1), 0.0))
        else:
            seen = obs
        flat = seen.flatten(0, 1)
        outputs = torch.cat([teacher.outputs(flat), teacher.values(flat).unsqueeze(-1)], -1)
        return outputs.view(*obs.shape[:2], -1)

    def loss_sum(self, piece: Minibatch, evaluation: Evaluation) -> Tensor:
        """The summed loss; 0 if teachers were not evaluated."""
        section, total = self._section, evaluation.values.new_zeros(())
        teacher_outputs = evaluation.samples.extra.get(self.name)  # [B, K (O + 1)]
        if teacher_outputs is None:
            return total
        for outputs in torch.split(teacher_outputs, self._distribution.num_outputs + 1, -1):
            if section.policy_coef:
                divergence = self._distribution.kl(outputs[..., :-1], evaluation.outputs).sum()
                total = total + section.policy_coef * divergence
            if section.value_coef:
                squares = (outputs[..., -1] - evaluation.values).square().sum()
                total = total + section.value_coef * squares
        return total

    def forget_episodes(self) -> None:
        for state in self._states:
            state.zero_()

    def state_dict(self) -> State:
        return {"teachers": [self._ranks.gather(state.cpu().clone()) for state in self._states]}

    def load_state_dict(self, state: State) -> None:
        for mine, saved in zip(self._states, state["teachers"], strict=True):
            mine.copy_(self._ranks.my_slice(saved))
