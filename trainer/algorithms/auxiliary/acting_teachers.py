"""Teachers that take some of the steps of a rollout, and what that means for learning from it.

Source: Ross et al. 2011, "A reduction of imitation learning", arXiv:1011.0686, whose beta is the
probability here; importance weights of mixtures: Veach and Guibas 1995, "Optimally combining
sampling techniques"; ratios and weights apart: Hilton et al. 2021, arXiv:2110.00641, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ...jit.streams import TEACHERS, units
from ...memory.rollout import ALL, Rollout
from ...policies.actor_critic import ActorCritic
from ...policies.distributions.protocol import Distribution
from ...policies.recurrent_actor_critic import RecurrentActorCritic
from ..algorithm import Collecting

Teacher = ActorCritic | RecurrentActorCritic
NOBODY = -1
LEAST_PROB = 1e-12  # to divide by


class ActingTeachers:
    """In every step each row is a teacher's with probability `prob`, all teachers' alike.

    Actions are then drawn from the teacher's distribution instead of the policy's, with the same
    noise, and seen over all draws from the mixture

        mu(a) = (1 - prob) pi(a) + prob * mean over teachers k of pi_k(a),

    whose log-probability becomes the rollout's `behaviour_log_probs`. Its `log_probs` remain those
    of the policy alone: updates may move it no further from there than any other.

    Whose step it is depends on the seed, the row and the number of the step alone.
    """

    def __init__(
        self,
        policy: Teacher,
        teachers: Sequence[Teacher],
        states: Sequence[Tensor],
        seed: int,
        is_inline: bool,
        first_row: int = 0,
    ) -> None:
        """`states` [N, S] are what each teacher remembers of every row, moved in place. Rows are
        those from `first_row` on of all ranks.
        """
        self._first_row = first_row
        self._policy, self._teachers, self._states = policy, teachers, states
        self._distribution: Distribution = policy.distribution
        self._seed, self._is_inline = np.uint64(seed), is_inline
        self.prob = torch.zeros((), device=policy.flat_parameters.device)
        self.is_on = True  # in this rollout

    def join(self, collector: Collecting) -> None:
        """Have `collector` ask for the actions of its rollouts here."""
        setattr(collector, "teachers", self)  # noqa: B010  (not all collectors have it)
        self._rollout: Rollout = collector.rollout
        rewards, size = self._rollout.rewards, self._distribution.num_outputs + 1
        self._uniforms = torch.zeros_like(rewards)
        self._rollout.others_acted = self.is_on
        self._rollout.behaviour_log_probs = torch.zeros_like(rewards)
        self._rollout.teacher_outputs = rewards.new_zeros(
            *rewards.shape, len(self._teachers) * size
        )

    def set_prob(self, prob: Tensor) -> None:
        """Before each rollout. At 0 teachers are not asked, but in what is captured."""
        self.prob.copy_(prob)
        self.is_on = self._rollout.others_acted = not self._is_inline or bool(prob)

    def begin(self, steps_before: int | Tensor) -> None:
        """Draw whose the steps of a rollout are, after `steps_before` of each row in former ones;
        a number, or where the rest is on a device [1] int64 there.
        """
        if not self.is_on:
            return
        if self._is_inline:
            steps = steps_before + np.arange(len(self._uniforms), dtype=np.uint64)
            rows = self._first_row + np.arange(self._uniforms.shape[1], dtype=np.uint64)
            self._uniforms.copy_(
                torch.from_numpy(units(steps[:, None], rows, self._seed, np.uint64(TEACHERS)))
            )
        else:
            # numba-cuda is needed only here.
            from ...policies.draws_on_gpu import fill_step_uniforms

            assert isinstance(steps_before, Tensor)
            fill_step_uniforms(self._uniforms, steps_before, self._seed, TEACHERS, self._first_row)

    def act_step(
        self, t: int, obs: Tensor, noise: Tensor, state: Tensor, rows: slice = ALL
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """As the policy's, in step `t` of some rows of the rollout."""
        if not self.is_on:
            return self._policy.act_step(obs, noise, state)
        features, state = self._policy.step(obs, state)
        outputs = self._policy.outputs(features)
        actions = self._distribution.sample(self.acting(t, obs, outputs, rows), noise)
        return actions, self.log_probs(t, outputs, actions, rows), state

    def acting(self, t: int, obs: Tensor, outputs: Tensor, rows: slice = ALL) -> Tensor:
        """The outputs [B, O] that actions of step `t` are drawn from: the policy's `outputs`, or a
        teacher's. What teachers say is kept in the rollout.
        """
        outputs_of = []
        for teacher, states in zip(self._teachers, self._states, strict=True):
            features, after = teacher.step(obs, states[rows])
            states[rows] = after
            outputs_of += [teacher.outputs(features), teacher.values(features).unsqueeze(-1)]
        assert self._rollout.teacher_outputs is not None
        torch.cat(outputs_of, -1, out=self._rollout.teacher_outputs[t, rows])
        uniforms, count = self._uniforms[t, rows], len(self._teachers)
        number = (uniforms * count / self.prob.clamp(min=LEAST_PROB)).long().clamp(max=count - 1)
        number = torch.where(uniforms < self.prob, number, NOBODY).unsqueeze(-1)
        for i, theirs in enumerate(outputs_of[::2]):
            outputs = torch.where(number == i, theirs, outputs)
        return outputs

    def log_probs(self, t: int, outputs: Tensor, actions: Tensor, rows: slice = ALL) -> Tensor:
        """Log-probabilities [B] of the actions of step `t` by the policy, whose `outputs` these
        are; those by the mixture go to the rollout.
        """
        teacher_outputs = self._rollout.teacher_outputs
        behaviour = self._rollout.behaviour_log_probs
        assert teacher_outputs is not None
        assert behaviour is not None

        def log_prob(by: Tensor) -> Tensor:
            return self._distribution.log_prob_and_entropy(by, actions)[0]

        by_policy = log_prob(outputs)
        shares = [torch.log1p(-self.prob) + by_policy]
        for theirs in torch.split(teacher_outputs[t, rows], self._distribution.num_outputs + 1, -1):
            log_share = self.prob.log() - math.log(len(self._teachers))
            shares.append(log_share + log_prob(theirs[..., :-1]))
        behaviour[t, rows] = torch.stack(shares).logsumexp(0)
        return by_policy

    def after(self, t: int, rows: slice = ALL) -> None:
        """Forget the episodes that ended in step `t`."""
        if self.is_on:
            ended = self._rollout.resets(t, rows).unsqueeze(-1)
            for states in self._states:
                states[rows].masked_fill_(ended, 0.0)
