"""What several ranks do together: sums over all of them, and nothing else."""

from __future__ import annotations

import io
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..returns.variances import explained
from .balance import Balance, WorkClock
from .sharing import Sharing, normalized_by
from .single import Agreement, Work
from .split import Share, shares_in_words
from .stragglers import Stragglers

if TYPE_CHECKING:
    from ..algorithms.algorithm import Metrics
    from ..algorithms.samplers import Sampler
    from ..networks.policy import Policy
    from ..replay import Batch

AllReduce = Callable[[Tensor], None]
AS_INTEGERS = {1: torch.uint8, 4: torch.int32, 8: torch.int64}  # by the bytes of an element


class Several:
    """One of several ranks; see `Ranks`. `all_reduce` adds up a tensor over them, in place and to
    the same bits everywhere, so that what they compute from it stays the same as well.
    """

    def __init__(
        self,
        rank: int,
        shares: Sequence[Share],
        all_reduce: AllReduce,
        num_on_machine: int = 1,
        notices: tuple[str, ...] = (),
        balance: Balance | None = None,
        stragglers: Stragglers | None = None,
        hosts: Sequence[str] = (),
        device: torch.device | str = "cpu",
    ) -> None:
        """With a `balance` the shares may change, with `stragglers` rollouts may be cut short.
        `hosts` are the machines of the ranks, for people.
        """
        self.device = torch.device(device)
        self.rank, self.size, self._add_up = rank, len(shares), all_reduce
        self.sums_s = 0.0
        self.num_on_machine, self.notices = num_on_machine, notices
        self._balance, self._clock = balance, WorkClock()
        self.stragglers = stragglers
        self._hosts = hosts or [f"rank {i}" for i in range(self.size)]
        self.begin_work, self.end_work = self._clock.begin, self._clock.end
        self._all_envs = sum(share.num_envs for share in shares)
        self.take_shares(shares)

    def take_shares(self, shares: Sequence[Share]) -> str:
        self.first_env, self._num_envs = shares[self.rank]
        return shares_in_words(shares, self._hosts)

    def _all_reduce(self, tensor: Tensor) -> None:
        begun_s = time.perf_counter()
        with self._clock.waiting():
            self._add_up(tensor)
        self.sums_s += time.perf_counter() - begun_s

    def own_size(self, whole_size: int) -> int:
        return whole_size // self._all_envs * self._num_envs

    def whole_size(self, own_size: int) -> int:
        return own_size // self._num_envs * self._all_envs

    def own_part(self, whole: Tensor, dim: int = 0) -> Tensor:
        of_each = whole.shape[dim] // self._all_envs
        return whole.narrow(dim, self.first_env * of_each, self._num_envs * of_each)

    def whole_of(self, own: Tensor, dim: int = 0) -> Tensor:
        """The tensor of all ranks that has zeros for the others."""
        shape = list(own.shape)
        shape[dim] = self.whole_size(shape[dim])
        whole = own.new_zeros(shape)
        self.own_part(whole, dim).copy_(own)
        return whole

    def gathered(self, own: Tensor, dim: int = 0) -> Tensor:
        # As integers: a sum with zeros that keeps every bit.
        kind = AS_INTEGERS[own.element_size()]
        whole = self.whole_of(own.contiguous().view(kind), dim)
        self._all_reduce(whole)
        return whole.view(own.dtype)

    def sum(self, own: Tensor) -> Tensor:
        found = own.clone()
        self._all_reduce(found)
        return found

    def add_up(self, own: Tensor) -> None:
        self._all_reduce(own)

    def each(self, own: Tensor) -> Tensor:
        found = own.new_zeros(self.size, *own.shape)
        found[self.rank] = own
        return self.sum(found)

    def mean_of(self, num_samples: int, work: Work, like: Tensor, size: int) -> tuple[Any, ...]:
        def weighted() -> tuple[Tensor, Tensor]:
            gradient, means = work()
            return gradient, means * num_samples

        gradient, sums, count = self.sum_of(num_samples, weighted, like, size)
        return gradient, sums / count

    def sum_of(self, num_samples: int, work: Work, like: Tensor, size: int) -> tuple[Any, ...]:
        flat = like.new_zeros(len(like) + 1 + size)  # gradient, count, sums: one message
        gradient, count, sums = torch.split(flat, [len(like), 1, size])
        if num_samples:
            found, found_sums = work()
            torch.mul(found, num_samples, out=gradient)
            count.fill_(num_samples)
            sums.copy_(found_sums)
        self._all_reduce(flat)
        return gradient.div_(count), sums.double(), round(float(count))

    def mean_of_batch(
        self, batch: Batch, gradient: Tensor, figures: Metrics, each: Tensor | None = None
    ) -> tuple[Tensor, Metrics, Any]:
        whole_size, size = len(batch.index), 0 if each is None else len(batch.index)
        flat = gradient.new_zeros(len(gradient) + len(figures) + size)  # one message
        parts = torch.split(flat, [len(gradient), len(figures), size])
        if batch.num_here:
            share = batch.num_here / whole_size
            torch.mul(gradient, share, out=parts[0])
            parts[1].copy_(torch.stack([*figures.values()])).mul_(share)
            if each is not None:
                parts[2][batch.numbers] = each.to(flat.dtype)
        self._all_reduce(flat)
        return parts[0], dict(zip(figures, parts[1].unbind(), strict=True)), parts[2]

    def moments(self, samples: Sequence[Tensor]) -> Tensor:
        """Count, mean and deviation [S, 3] float64 of each of these samples [B] in all ranks."""
        return self.moments_of(torch.stack([sums_of(x) for x in samples]))

    def moments_of(self, sums: Tensor) -> Tensor:
        """As `moments`, from what `sums_of` gives of each [S, 3]; changes `sums`."""
        self._all_reduce(sums)
        count, total, squares = sums.unbind(1)
        mean = total / count
        variance = (squares - total * mean).clamp_(min=0) / (count - 1)
        return torch.stack([count, mean, variance.sqrt()], 1)

    def normalized(self, advantages: Tensor, among: Tensor | None = None) -> Tensor:
        among = advantages if among is None else among
        return normalized_by(self.moments([among])[0], advantages)

    def explained_variance(self, returns: Tensor, values: Tensor) -> Tensor:
        variance, left = self.moments([returns, returns - values])[:, 2].square().unbind()
        return explained(variance, left)

    def take_in(self, moments: Any, pieces: Iterable[Tensor]) -> None:
        # Around the mean so far, which is the same everywhere: squares stay small beside it.
        around = moments.mean
        sums = around.new_zeros(2 * len(around) + 1)
        total, squares, number = torch.split(sums, [len(around), len(around), 1])
        for samples in pieces:
            off = samples.double() - around
            total += off.sum(0)
            squares += off.square_().sum(0)
            number += len(off)
        self._all_reduce(sums)
        count = float(sums[-1])
        if count:
            mean, square = (sums[:-1] / count).chunk(2)
            moments.merge(count, around + mean, (square - mean.square()).clamp_(min=0))

    def observe(self, policy: Policy, pieces: Iterable[Tensor]) -> None:
        normalizer: Any = getattr(policy, "normalizer")  # noqa: B009  (not every policy's)
        self.take_in(normalizer.moments, pieces)

    def sharing(self, sampler: Sampler, section: Any, normalizes: bool) -> Sampler:
        return Sharing(sampler, self, section, normalizes)

    def agreed(self, stop: bool, checkpoint: bool, *parameters: Tensor) -> Agreement:
        self._wait_for_device()
        own = 0
        for each in parameters:
            own = zlib.crc32(each.detach().cpu().view(torch.uint8).numpy().data, own)
        # What rank 0 takes off all others add again, where they have the same.
        off = own if self.rank else own * (1 - self.size)
        worked_us = [0] * self.size
        worked_us[self.rank] = self._clock.take_us()
        wishes = torch.tensor([stop, checkpoint and self.rank == 0, off, *worked_us])
        self._all_reduce(wishes)
        stops, checkpoints, differ, *worked_us = wishes.tolist()
        if differ:
            for each in parameters:
                self._take_from_first(each)
            self._wait_for_device()
        found = Agreement(bool(stops), bool(checkpoints))
        if self._balance is None or stops:
            return found
        return found._replace(shares=self._balance.after_iteration(worked_us))

    def _wait_for_device(self) -> None:
        """What was given to it is done, and what comes next sees that, in whatever stream."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @torch.no_grad()
    def _take_from_first(self, parameters: Tensor) -> None:
        """Put what rank 0 has of `parameters` in all ranks."""
        bits = parameters.view(AS_INTEGERS[parameters.element_size()])
        first = bits.clone() if self.rank == 0 else torch.zeros_like(bits)
        self._all_reduce(first)
        bits.copy_(first)

    def told_by_first(self, state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        data = bytearray()
        if self.rank == 0 and state is not None:
            file = io.BytesIO()
            torch.save(dict(state), file)
            data = bytearray(file.getbuffer())
        size = self.sum(torch.tensor([len(data)]))
        if not int(size):
            return None
        whole = torch.zeros(int(size), dtype=torch.uint8)
        if self.rank == 0:
            whole.copy_(torch.frombuffer(data, dtype=torch.uint8))
        self._all_reduce(whole)
        # Nothing in it is executed.
        told: Mapping[str, Any] = torch.load(io.BytesIO(whole.numpy().tobytes()), weights_only=True)
        return told


def sums_of(samples: Tensor) -> Tensor:
    """Their count, sum and sum of squares [3] float64."""
    samples = samples.double()
    return torch.stack([samples.new_tensor(samples.numel()), samples.sum(), samples.square().sum()])
