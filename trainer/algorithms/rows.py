"""Rollouts as rows of steps, for recurrent policies: each row begins with a stored state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from ..machine.threads import Each
from ..memory.rollout import MOST_AT_ONCE, Rollout
from ..policies.recurrent_actor_critic import RecurrentActorCritic
from .gradient import SHARED_SAMPLES
from .minibatches import Batch, Evaluation, Minibatch, Observations


class Rows(NamedTuple):
    """R rows of L steps, each a piece of one environment's rollout: `samples` are [L, R, ...].

    `states` [R, S] are the recurrent states before the first step; they are set to zero after the
    steps `resets` [L, R]. Steps that are not `valid` [L, R] are not learned from.
    """

    samples: Batch
    states: Tensor
    resets: Tensor
    valid: Tensor | None

    @property
    def num_parts(self) -> int:
        """The number of rows; minibatches are drawn from rows."""
        return len(self.states)

    def at(self, index: Tensor | slice) -> Rows:
        samples = self.samples.each(lambda x: x[:, index])
        valid = None if self.valid is None else self.valid[:, index]
        return Rows(samples, self.states[index], self.resets[:, index], valid)

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x [L, R, ...] that count, as [B, ...]."""
        return x.flatten(0, 1) if self.valid is None else x[self.valid]

    @property
    def num_samples(self) -> int:
        """The number of samples that count; waits for the device if some do not."""
        return self.resets.numel() if self.valid is None else int(self.valid.sum())

    @property
    def advantages(self) -> Tensor:
        return self.samples.advantages

    def counted_advantages(self, index: Tensor) -> Tensor:
        """The advantages of these rows' samples that count."""
        advantages = self.advantages[:, index]
        return advantages.flatten() if self.valid is None else advantages[self.valid[:, index]]

    @property
    def extra(self) -> Mapping[str, Tensor]:
        return self.samples.extra

    @property
    def part_advantages(self) -> Tensor:
        """The sum of absolute advantages of each row [R]."""
        large = self.advantages.abs()
        return (large if self.valid is None else large.masked_fill(~self.valid, 0.0)).sum(0)

    def spread(self, weights: Tensor) -> Tensor:
        """Weights of samples [L, R], from the weights [R] of rows."""
        return weights.expand_as(self.advantages)

    def with_advantages(self, advantages: Tensor) -> Rows:
        return self._replace(samples=self.samples._replace(advantages=advantages))

    def with_extra(self, extra: Mapping[str, Tensor]) -> Rows:
        """The rows with more tensors [L, R, ...] for auxiliary losses."""
        return self._replace(samples=self.samples._replace(extra={**self.extra, **extra}))


class RowEvaluator:
    """Like `StepEvaluator`, for rows: outputs and values depend on the recurrent state."""

    def __init__(
        self,
        policy: RecurrentActorCritic,
        looks_up: bool,
        each: Each = map,
        compiles: bool = False,
    ) -> None:
        """With `looks_up` observations are gathered in pieces, and `each` works on the pieces of
        rollouts.
        """
        self._policy, self._observations = policy, Observations(looks_up)
        self._each: Each = each if looks_up else map
        if compiles:
            from ..jit.torch_compiling import left_as_it_is  # rarely needed

            # Unrolling the loop over a row's steps takes minutes to compile and is no faster.
            left_as_it_is(policy.layer)

    def batch(
        self,
        rollout: Rollout,
        advantages: Tensor,
        returns: Tensor,
        extra: Mapping[str, Tensor] | None = None,
    ) -> Rows:
        """The batch that minibatches are drawn from; every tensor is [T, N, ...], of the rollout's
        steps.
        """
        seen = self._observations.seen(rollout)
        rows = rows_of(rollout, advantages, returns, extra, seen)
        if rows.valid is None:
            return rows
        # Leave out rows without valid steps: a minibatch of them would have no samples.
        return rows.at(rows.valid.any(0).nonzero().squeeze(1))

    def features(self, piece: Minibatch) -> Tensor:
        """The recurrent layer's output after each step [L, R, H]."""
        assert isinstance(piece, Rows)
        obs = self._observations.of(piece.samples.obs)
        features: Tensor = self._policy.over_rows(obs, piece.states, piece.resets)[0]
        return features

    def evaluate_actions(self, piece: Minibatch) -> Evaluation:
        assert isinstance(piece, Rows)
        features = self.features(piece)
        valid = piece.valid_of(features)
        samples = piece.samples.each(piece.valid_of)
        return Evaluation(
            features, self._policy.outputs(valid), self._policy.values(valid), samples
        )

    @torch.no_grad()
    def fill_values(self, rollout: Rollout) -> None:
        """Fill in the values of all states by the current policy. The value of a step's next state
        uses the recurrent state after that step, also where a time limit ended the episode, and at
        the end.
        """
        policy, parts = self._policy, self._remembered(rollout)
        rollout.values.copy_(in_order(policy.values(parts[0]), rollout))
        known = in_order(policy.states_of(parts), rollout)

        def value_of(obs: Tensor, states: Tensor) -> Tensor:
            return policy.values(policy.step(obs, states)[0])

        last = value_of(rollout.obs[-1], known[-1]).unsqueeze(0)
        next_values = torch.cat([rollout.values[1:], last])
        rollout.next_values.copy_(rollout.with_final_values(next_values, value_of, known))

    def _remembered(self, rollout: Rollout) -> tuple[Tensor, ...]:
        """The parts of the recurrent state [L, K N, size] after every step of the rows, features
        first.
        """
        rows = rows_of(rollout)

        def of(some: slice) -> tuple[Tensor, ...]:
            obs = rows.samples.obs[:, some]
            parts: tuple[Tensor, ...] = self._policy.over_rows(
                obs, rows.states[some], rows.resets[:, some]
            )
            return parts

        most = SHARED_SAMPLES if self._observations.looks_up else MOST_AT_ONCE
        at_once = max(1, most // len(rows.resets))
        pieces = [slice(i, i + at_once) for i in range(0, rows.num_parts, at_once)]
        results = list(self._each(of, pieces))
        if len(results) == 1:
            only: tuple[Tensor, ...] = results[0]
            return only
        return tuple(torch.cat(parts, 1) for parts in zip(*results, strict=True))


def rows_of(
    rollout: Rollout,
    advantages: Tensor | None = None,
    returns: Tensor | None = None,
    extra: Mapping[str, Tensor] | None = None,
    seen: Tensor | None = None,
) -> Rows:
    """A rollout [T, N] cut into rows [L, K N] at the steps whose states it kept; the first N rows
    are its first piece. `seen` [T, N, ...] replaces observations that are not stored with the
    rollout.
    """
    assert rollout.states is not None
    num_pieces = len(rollout.states)

    def cut(x: Tensor) -> Tensor:
        return x.view(num_pieces, -1, *x.shape[1:]).transpose(0, 1).flatten(1, 2)

    values = rollout.values
    samples = Batch(
        rollout.obs[:-1] if seen is None else seen,
        rollout.actions,
        rollout.log_probs,
        values if advantages is None else advantages,
        values if returns is None else returns,
        values,
        extra or {},
    ).each(cut)
    valid = None if rollout.valid is None else cut(rollout.valid)
    return Rows(samples, rollout.states.flatten(0, 1), cut(rollout.resets()), valid)


def in_order(x: Tensor, rollout: Rollout) -> Tensor:
    """x [L, K N, ...] of rows as [T, N, ...] of the rollout that the rows were cut from."""
    num_rows = rollout.rewards.shape[1]
    return x.view(len(x), -1, num_rows, *x.shape[2:]).transpose(0, 1).flatten(0, 1)
