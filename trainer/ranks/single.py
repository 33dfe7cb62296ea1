"""What is done together with other ranks: by a process that is alone, nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch
from torch import Tensor

from ..returns.variances import explained_variance, normalized

if TYPE_CHECKING:
    from ..algorithms.algorithm import Metrics
    from ..algorithms.samplers import Sampler
    from ..networks.policy import Policy
    from ..replay import Batch
    from .split import Share
    from .stragglers import Stragglers

Work = Callable[[], tuple[Tensor, Tensor]]


class Agreement(NamedTuple):
    """What all ranks do next: end, save a checkpoint after the next iteration, and share
    environments out anew before it.
    """

    stop: bool
    checkpoint: bool
    shares: Sequence[Share] | None = None


class Ranks(Protocol):
    """All processes that learn one policy, seen from one of them.

    Each has environments of its own, `num_envs` of them from `first_env` on; rows, samples and
    statistics of all together are as if one process had all environments. Whatever is asked for
    here all ranks ask for in the same order.
    """

    rank: int
    size: int
    first_env: int
    num_on_machine: int  # ranks on this machine, which share its cores
    sums_s: float  # spent in sums with others so far: mostly waiting for them
    device: torch.device  # that they learn on
    notices: tuple[str, ...]  # for people, when the run begins
    stragglers: Stragglers | None  # where rollouts may be cut short

    def own_size(self, whole_size: int) -> int:
        """How much of something is here, of which each environment has the same."""

    def whole_size(self, own_size: int) -> int:
        """How much there is of it in all ranks."""

    def own_part(self, whole: Tensor, dim: int = 0) -> Tensor:
        """What of a tensor of all environments, or rows of theirs, along `dim` is here."""

    def gathered(self, own: Tensor, dim: int = 0) -> Tensor:
        """The tensor of all that `own_part` gives a part of."""

    def sum(self, own: Tensor) -> Tensor:
        """A tensor added up over all ranks."""

    def add_up(self, own: Tensor) -> None:
        """Add up a tensor over all ranks, in place."""

    def each(self, own: Tensor) -> Tensor:
        """The same tensor of all ranks [size, ...]."""

    def mean_of(self, num_samples: int, work: Work, like: Tensor, size: int) -> tuple[Any, ...]:
        """The gradient [P] of a loss's mean and other means [size], both over the samples of all
        ranks. `work` gives them of the `num_samples` that are here, and is not asked where there
        are none. `like` is of the gradient's shape.
        """

    def sum_of(self, num_samples: int, work: Work, like: Tensor, size: int) -> tuple[Any, ...]:
        """As `mean_of`, but that `work` gives sums besides the gradient; and the number of samples
        in all ranks.
        """

    def mean_of_batch(
        self, batch: Batch, gradient: Tensor, figures: Metrics, each: Tensor | None = None
    ) -> tuple[Tensor, Metrics, Any]:
        """What a whole minibatch from replay gives, of which `batch` is here: the gradient [P] of
        its mean loss, the means of `figures`, and `each` [B] for all samples; from those here.
        """

    def normalized(self, advantages: Tensor, among: Tensor | None = None) -> Tensor:
        """Mean 0 and deviation 1 over all ranks' advantages, or those `among` them that count."""

    def explained_variance(self, returns: Tensor, values: Tensor) -> Tensor:
        """The fraction of the variance of all ranks' returns that values predict."""

    def take_in(self, moments: Any, pieces: Iterable[Tensor]) -> None:
        """Take samples [B, size], in pieces, into running statistics."""

    def observe(self, policy: Policy, pieces: Iterable[Tensor]) -> None:
        """Take observations [B, D], in pieces, into a policy's statistics."""

    def sharing(self, sampler: Sampler, section: Any, normalizes: bool) -> Sampler:
        """`sampler`, made to draw minibatches of the samples of all ranks, and to give of each
        what is here. `normalizes` says whether advantages are normalised over each.
        """

    def agreed(self, stop: bool, checkpoint: bool, *parameters: Tensor) -> Agreement:
        """End where any rank wants that, and save a checkpoint where rank 0 wants to. Where a
        rank's `parameters` are no longer those of rank 0 to the bit, as processors of another kind
        round them, they are so again.
        """

    def take_shares(self, shares: Sequence[Share]) -> str:
        """Have these environments from now on; returns who has how many, in words."""

    def begin_work(self) -> None:
        """An iteration begins here."""

    def end_work(self) -> None:
        """It ends, and others may still be at work."""

    def told_by_first(self, state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The nested state of tensors and plain values that rank 0 tells; None where it has
        none.
        """


class Single:
    """One process, which has it all."""

    rank, size, first_env, num_on_machine = 0, 1, 0, 1
    sums_s = 0.0
    notices: tuple[str, ...] = ()
    stragglers: Stragglers | None = None
    device = torch.device("cpu")  # which nobody asks

    def own_size(self, whole_size: int) -> int:
        return whole_size

    def whole_size(self, own_size: int) -> int:
        return own_size

    def own_part(self, whole: Tensor, dim: int = 0) -> Tensor:
        return whole

    def gathered(self, own: Tensor, dim: int = 0) -> Tensor:
        return own

    def sum(self, own: Tensor) -> Tensor:
        return own

    def add_up(self, own: Tensor) -> None:
        return

    def each(self, own: Tensor) -> Tensor:
        return own.unsqueeze(0)

    def mean_of(self, num_samples: int, work: Work, like: Tensor, size: int) -> tuple[Any, ...]:
        return work()

    def sum_of(self, num_samples: int, work: Work, like: Tensor, size: int) -> tuple[Any, ...]:
        return *work(), num_samples

    def mean_of_batch(
        self, batch: Batch, gradient: Tensor, figures: Metrics, each: Tensor | None = None
    ) -> tuple[Tensor, Metrics, Any]:
        return gradient, figures, each

    def normalized(self, advantages: Tensor, among: Tensor | None = None) -> Tensor:
        return normalized(advantages, among)

    def explained_variance(self, returns: Tensor, values: Tensor) -> Tensor:
        return explained_variance(returns, values)

    def take_in(self, moments: Any, pieces: Iterable[Tensor]) -> None:
        for samples in pieces:
            moments.update(samples)

    def observe(self, policy: Policy, pieces: Iterable[Tensor]) -> None:
        for obs in pieces:
            policy.observe(obs)

    def sharing(self, sampler: Sampler, section: Any, normalizes: bool) -> Sampler:
        return sampler

    def agreed(self, stop: bool, checkpoint: bool, *parameters: Tensor) -> Agreement:
        return Agreement(stop, checkpoint)

    def take_shares(self, shares: Sequence[Share]) -> str:
        raise AssertionError("there is nobody to share with")

    def begin_work(self) -> None:
        pass

    def end_work(self) -> None:
        pass

    def told_by_first(self, state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return state


SINGLE = Single()
