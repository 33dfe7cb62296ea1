"""Minibatches of a rollout: the batch that they are drawn from, and how they get observations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor

from ..distributed.sampler import distributed_sampler
from ..machine.values import Scalar
from ..memory.rollout import Rollout
from ..memory.samplers import Sampler
from ..policies.actor_critic import ActorCritic

if TYPE_CHECKING:
    from ..config.sections.ppo import PPOConfig
    from ..config.sections.pqn import PQNConfig
    from ..distributed.process_group import ProcessGroup


class Drawable(Protocol):
    """A batch or a minibatch: a number of parts, each a sample or a row of samples."""

    @property
    def num_parts(self) -> int: ...

    @property
    def num_samples(self) -> int: ...

    def at(self, index: Tensor) -> Self:
        """The parts with these numbers."""


D = TypeVar("D", bound=Drawable)


class Minibatch(Drawable, Protocol):
    """Samples of PPO; its parts are samples or rows of samples."""

    @property
    def advantages(self) -> Tensor: ...

    @property
    def extra(self) -> Mapping[str, Tensor]:
        """Tensors for auxiliary losses, by the losses' names."""

    def at(self, index: Tensor | slice) -> Self: ...

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x, shaped like `advantages`, that count: [B, ...]."""

    def spread(self, weights: Tensor) -> Tensor:
        """Weights of samples, from the weights of parts."""

    def with_advantages(self, advantages: Tensor) -> Self: ...


class Minibatches:
    """Draws minibatches from a rollout's batch, epoch by epoch, also if several ranks have the
    samples.
    """

    def __init__(
        self,
        sampler: Sampler,
        section: PPOConfig | PQNConfig,
        ranks: ProcessGroup,
        normalizes: bool = False,
    ) -> None:
        """`normalizes` says whether advantages are normalised over each minibatch."""
        self._sampler = distributed_sampler(ranks, sampler, section, normalizes)
        self._num_epochs, self._num_minibatches = section.num_epochs, section.num_minibatches
        self.normalized = self._sampler.normalized
        self.state_dict = self._sampler.state_dict
        self.load_state_dict = self._sampler.load_state_dict

    def epochs(
        self,
        rollout: Rollout,
        batch: D,
        progress_fraction: Scalar,
    ) -> Iterator[Iterator[tuple[D, Tensor | None]]]:
        """The epochs of an update: each yields minibatches of `batch` and the weights of their
        parts in the policy's loss, None if all weights are 1.
        """

        self._sampler.begin(rollout)
        for _ in range(self._num_epochs):
            drawn = self._sampler.epoch(batch, self._num_minibatches, progress_fraction)
            yield ((batch.at(index), weights) for index, weights in drawn)

    def first(self, rollout: Rollout, batch: D) -> D:
        """A minibatch of the first parts, without random numbers."""
        size = batch.num_parts // min(self._num_minibatches, batch.num_parts)
        index = torch.arange(size, device=rollout.rewards.device)
        return batch.at(index)


class Batch(NamedTuple):
    """Samples to learn from; the first dimension of each tensor is [B]. `obs` may be the numbers
    of observations, as `Observations` has them.
    """

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    extra: Mapping[str, Tensor] = {}  # tensors for auxiliary losses, by name

    @property
    def num_parts(self) -> int:
        """The number of samples; minibatches are drawn from samples."""
        return len(self.returns)

    @property
    def num_samples(self) -> int:
        return len(self.returns)

    def at(self, index: Tensor | slice) -> Batch:
        return self.each(lambda x: x[index])

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """A batch with `change` applied to every tensor."""
        obs, actions, log_probs, advantages, returns, values = map(change, self[:6])
        extra = {name: change(x) for name, x in self.extra.items()}
        return Batch(obs, actions, log_probs, advantages, returns, values, extra)

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


class Evaluation(NamedTuple):
    """The current policy's results for a minibatch: `outputs` [B, O] of the distribution and
    `values` [B] of its `samples`, computed from `features`.
    """

    features: Tensor
    outputs: Tensor
    values: Tensor
    samples: Batch


class Observations:
    """The observations of a rollout for minibatches. With `looks_up` a batch holds only their
    numbers, and each piece of a minibatch gathers its own observations.
    """

    def __init__(self, looks_up: bool) -> None:
        self.looks_up = looks_up
        self._flat = torch.empty(0)  # [T N, D], for `looks_up`

    def seen(self, rollout: Rollout) -> Tensor:
        """Observations [T, N, D], or their numbers [T, N]."""
        if not self.looks_up:
            return rollout.obs[:-1]
        self._flat = rollout.obs.flatten(0, 1)
        shape = rollout.rewards.shape
        return torch.arange(shape.numel(), dtype=torch.int32).view(shape)

    def of(self, seen: Tensor) -> Tensor:
        """The observations [..., D] of a piece, from its part of the result of `seen`."""
        return self._flat[seen] if self.looks_up else seen


class StepEvaluator:
    """Evaluates a policy that sees single observations, on minibatches and on whole rollouts."""

    def __init__(self, policy: ActorCritic, looks_up: bool) -> None:
        """`looks_up` is that of `Observations`."""
        self._policy, self._observations = policy, Observations(looks_up)

    def batch(
        self,
        rollout: Rollout,
        advantages: Tensor,
        returns: Tensor,
        extra: Mapping[str, Tensor] | None = None,
    ) -> Batch:
        """The batch that minibatches are drawn from; every tensor is [T, N, ...], of the rollout's
        steps.
        """
        samples = Batch(
            self._observations.seen(rollout),
            rollout.actions,
            rollout.log_probs,
            advantages,
            returns,
            rollout.values,
            extra or {},
        )
        return samples.each(rollout.valid_of)

    def features(self, piece: Minibatch) -> Tensor:
        """The inputs of outputs and values: observations."""
        assert isinstance(piece, Batch)
        return self._observations.of(piece.obs)

    def evaluate_actions(self, piece: Minibatch) -> Evaluation:
        assert isinstance(piece, Batch)
        obs = self.features(piece)
        return Evaluation(obs, *self._policy.evaluate(obs), piece)

    @torch.no_grad()
    def fill_values(self, rollout: Rollout) -> None:
        """Fill in the values of all states of the rollout by the current policy."""
        values, next_values = rollout.values_by(self._policy.values)
        rollout.values.copy_(values)
        rollout.next_values.copy_(next_values)
