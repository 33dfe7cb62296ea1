"""Samples of a rollout that PPO draws minibatches from: single steps, or rows of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..memory.rollout import MOST_AT_ONCE, Rollout
from ..policies.actor_critic import ActorCritic
from ..policies.recurrent_actor_critic import RecurrentActorCritic

SHARED_SAMPLES = 4096  # samples per piece: large operations, yet little memory
LEAST_SHARED_SAMPLES = 512  # smaller pieces are not faster in threads
SHARED_IMAGES = 64  # samples per piece for convolutions, which take far longer for each


class Batch(NamedTuple):
    """Samples to learn from; the first dimension of each tensor is [B].

    With a `table` of observations, `obs` are their numbers in it, so that each piece of a minibatch
    gathers its own observations.
    """

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    extra: Mapping[str, Tensor] = {}  # tensors for auxiliary losses, by name
    table: Tensor | None = None

    @property
    def num_parts(self) -> int:
        """The number of samples; minibatches are drawn from samples."""
        return len(self.returns)

    @property
    def num_samples(self) -> int:
        return len(self.returns)

    def at(self, index: Tensor | slice) -> Batch:
        return self.map(lambda x: x[index])

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """A batch with `change` applied to every tensor of samples."""
        obs, actions, log_probs, advantages, returns, values = map(change, self[:6])
        extra = {name: change(x) for name, x in self.extra.items()}
        return Batch(obs, actions, log_probs, advantages, returns, values, extra, self.table)

    def valid_of(self, x: Tensor) -> Tensor:
        """All samples of x [B, ...]: all of them count."""
        return x

    def counted_advantages(self, index: Tensor) -> Tensor:
        """The advantages of these samples: all of them count."""
        return self.advantages[index]

    @property
    def part_advantages(self) -> Tensor:
        """The absolute advantage of each part [B]."""
        return self.advantages.abs()

    def spread(self, weights: Tensor) -> Tensor:
        """Weights of samples, from the weights [B] of parts, which are the same here."""
        return weights

    def with_advantages(self, advantages: Tensor) -> Batch:
        return self._replace(advantages=advantages)

    def observations(self) -> Tensor:
        return self.obs if self.table is None else self.table[self.obs]

    def evaluate(self, policy: Any) -> Evaluation:
        """The results of an `ActorCritic`."""
        obs = self.observations()
        outputs, values = policy.evaluate(obs)
        return Evaluation(obs, outputs, values, self)


class Rows(NamedTuple):
    """R rows of L steps, for recurrent policies: `samples` are [L, R, ...], each row a part of one
    environment's rollout.

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

    @property
    def num_samples(self) -> int:
        """The number of samples that count; waits for the device if some do not."""
        return self.resets.numel() if self.valid is None else int(self.valid.sum())

    def at(self, index: Tensor | slice) -> Rows:
        samples = self.samples.map(lambda x: x[:, index])
        valid = None if self.valid is None else self.valid[:, index]
        return Rows(samples, self.states[index], self.resets[:, index], valid)

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x [L, R, ...] that count, as [B, ...]."""
        return x.flatten(0, 1) if self.valid is None else x[self.valid]

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

    def features(self, policy: RecurrentActorCritic) -> Tensor:
        """The recurrent layer's output after each step [L, R, H]."""
        obs = self.samples.observations()
        features: Tensor = policy.over_rows(obs, self.states, self.resets)[0]
        return features

    def evaluate(self, policy: Any) -> Evaluation:
        """The results of a `RecurrentActorCritic`."""
        features = self.features(policy)
        valid = self.valid_of(features)
        samples = self.samples.map(self.valid_of)
        return Evaluation(features, policy.outputs(valid), policy.values(valid), samples)


Minibatch = Batch | Rows


class Evaluation(NamedTuple):
    """The current policy's results for a minibatch: `outputs` [B, O] of the distribution and
    `values` [B] of its `samples`, computed from `features`.
    """

    features: Tensor
    outputs: Tensor
    values: Tensor
    samples: Batch


def steps_of(
    rollout: Rollout,
    advantages: Tensor,
    returns: Tensor,
    extra: Mapping[str, Tensor] | None = None,
    looks_up: bool = False,
) -> Batch:
    """All steps of a rollout, every tensor [T, N, ...]; with `looks_up` the batch has a `table`."""
    obs, table = rollout.obs[:-1], None
    if looks_up:
        shape, table = rollout.rewards.shape, rollout.obs.flatten(0, 1)
        obs = torch.arange(shape.numel(), dtype=torch.int32).view(shape)
    return Batch(
        obs,
        rollout.actions,
        rollout.log_probs,
        advantages,
        returns,
        rollout.values,
        extra or {},
        table,
    )


def rows_of(rollout: Rollout, steps: Batch | None = None) -> Rows:
    """The `steps` [T, N] of a rollout cut into rows [L, K N] where the rollout kept recurrent
    states; the first N rows are its first piece. Without `steps`, values stand for what is missing.
    """
    assert rollout.states is not None
    num_pieces = len(rollout.states)

    def cut(x: Tensor) -> Tensor:
        return x.view(num_pieces, -1, *x.shape[1:]).transpose(0, 1).flatten(1, 2)

    steps = steps or steps_of(rollout, rollout.values, rollout.values)
    valid = None if rollout.valid is None else cut(rollout.valid)
    return Rows(steps.map(cut), rollout.states.flatten(0, 1), cut(rollout.resets()), valid)


def in_order(x: Tensor, rollout: Rollout) -> Tensor:
    """x [L, K N, ...] of rows as [T, N, ...] of the rollout that the rows were cut from."""
    num_rows = rollout.rewards.shape[1]
    return x.view(len(x), -1, num_rows, *x.shape[2:]).transpose(0, 1).flatten(0, 1)


def _states_after(rows: Rows, policy: RecurrentActorCritic) -> tuple[Tensor, ...]:
    """The parts of the recurrent state [L, R, size] after every step of the rows, features first.
    What pieces of the rows need is not in memory any more.
    """
    at_once = max(1, MOST_AT_ONCE // len(rows.resets))
    pieces = [rows.at(slice(i, i + at_once)) for i in range(0, rows.num_parts, at_once)]
    results = [policy.over_rows(x.samples.obs, x.states, x.resets) for x in pieces]
    return tuple(torch.cat(x, 1) for x in zip(*results, strict=True))


@torch.no_grad()
def fill_values(policy: ActorCritic | RecurrentActorCritic, rollout: Rollout) -> None:
    """Fill in the values of all states of a rollout by the current policy. With a recurrent policy,
    the value of a step's next state uses the recurrent state after that step, also where a time
    limit ended the episode, and at the end.
    """
    if not isinstance(policy, RecurrentActorCritic):
        values, next_values = rollout.values_by(policy.values)
        rollout.values.copy_(values)
        rollout.next_values.copy_(next_values)
        return
    parts = _states_after(rows_of(rollout), policy)
    rollout.values.copy_(in_order(policy.values(parts[0]), rollout))
    states = in_order(policy.states_of(parts), rollout)

    def value_of(obs: Tensor, states: Tensor) -> Tensor:
        return policy.values(policy.step(obs, states)[0])

    last = value_of(rollout.obs[-1], states[-1]).unsqueeze(0)
    next_values = torch.cat([rollout.values[1:], last])
    rollout.next_values.copy_(rollout.with_final_values(next_values, value_of, states))


def slices(
    minibatch: Minibatch, most_samples: int, is_shared: bool, has_images: bool
) -> list[slice]:
    """The index ranges of the pieces that a minibatch is divided into: of `most_samples` samples
    each (0: no limit), and if threads share it, of as many as `num_shared` says.
    """
    num_parts = minibatch.num_parts
    num_samples = minibatch.advantages.numel()
    at_once = max(1, most_samples * num_parts // num_samples) if most_samples else num_parts
    count = num_shared(num_samples, has_images) if is_shared else 1
    count = min(max(count, -(-num_parts // at_once)), num_parts)
    return [slice(*pair) for pair in pairwise(num_parts * i // count for i in range(count + 1))]


def num_shared(num_samples: int, has_images: bool = False) -> int:
    """The number of pieces that a minibatch of `num_samples` is divided into. It does not depend on
    the number of threads, so that sums are rounded alike.
    """
    if has_images:
        return max(num_samples // SHARED_IMAGES, 1)
    return max(num_samples // SHARED_SAMPLES, min(2, num_samples // LEAST_SHARED_SAMPLES), 1)
