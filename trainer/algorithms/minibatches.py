"""Minibatches of a rollout: the batch that they are drawn from, and how they get observations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self, TypeVar

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
    def policy_weights(self) -> Tensor | None:
        """Importance weights of samples in the policy's loss; None if only the policy acted."""

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
        renews: Literal["never", "epoch", "minibatch"] = "never",
    ) -> None:
        """`normalizes` says whether advantages are normalised over each minibatch, and `renews`
        when they are computed again.
        """
        self._sampler = distributed_sampler(ranks, sampler, section, normalizes)
        self._num_epochs, self._num_minibatches = section.num_epochs, section.num_minibatches
        self._renews = renews
        self.normalized = self._sampler.normalized
        self.state_dict = self._sampler.state_dict
        self.load_state_dict = self._sampler.load_state_dict

    def epochs(
        self,
        rollout: Rollout,
        batch: D,
        progress_fraction: Scalar,
        renewed: Callable[[], D] | None = None,
    ) -> Iterator[Iterator[tuple[D, Tensor | None]]]:
        """The epochs of an update: each yields minibatches of `batch` and the weights of their
        parts in the policy's loss, None if all weights are 1. `renewed` returns the batch with
        advantages of the current policy.
        """

        def epoch(number: int) -> Iterator[tuple[D, Tensor | None]]:
            nonlocal batch
            drawn = self._sampler.epoch(batch, self._num_minibatches, progress_fraction)
            for count, (index, weights) in enumerate(drawn):
                if renewed and self._renews == "minibatch" and (number or count):
                    batch = renewed()
                yield batch.at(index), weights

        self._sampler.begin(rollout)
        for number in range(self._num_epochs):
            if renewed and self._renews == "epoch" and number:
                batch = renewed()
            yield epoch(number)

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
    policy_weights: Tensor | None = None  # in the policy's loss, if teachers acted too
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
        weights = None if self.policy_weights is None else change(self.policy_weights)
        extra = {name: change(x) for name, x in self.extra.items()}
        return Batch(obs, actions, log_probs, advantages, returns, values, weights, extra)

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
        policy_weights: Tensor | None = None,
        extra: Mapping[str, Tensor] | None = None,
    ) -> Batch:
        """The batch that minibatches are drawn from; every tensor is [T, N, ...], of the rollout's
        steps.
        """
        samples = Batch(
            self._observations.seen(rollout), rollout.actions, rollout.log_probs, advantages,
            returns, rollout.values, policy_weights, extra or {},
        )  # fmt: skip
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

    def log_probs(self, rollout: Rollout) -> Tensor:
        """Log-probabilities [T, N] of the rollout's actions by the current policy."""
        policy = self._policy

        def of(obs: Tensor, actions: Tensor) -> Tensor:
            return policy.distribution.log_prob_and_entropy(policy.outputs(obs), actions)[0]

        obs, actions = rollout.obs[:-1].flatten(0, 1), rollout.actions.flatten(0, 1)
        return rollout.in_pieces(of, obs, actions).view_as(rollout.log_probs)
