"""The processes ("ranks") that train one policy, and the five operations between them."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from .split import Share

if TYPE_CHECKING:
    from .watch import Watch

INTEGERS = {1: torch.uint8, 4: torch.int32, 8: torch.int64}  # by the bytes of an element


class Agreement(NamedTuple):
    """The decision of all ranks: whether to stop, and whether to save a checkpoint after the next
    iteration.
    """

    stop: bool
    checkpoint: bool


class WaitClock:
    """Measures how long a rank waits for others."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.waited_s = 0.0  # seconds in sums with other ranks so far, mostly waiting

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wraps a sum with other ranks."""
        began_at = self._clock()
        yield
        self.waited_s += self._clock() - began_at


class ProcessGroup:
    """All ranks, as seen by one of them; this class is the group of a single process.

    Each rank steps a contiguous range of the environments. A row is an environment, or one of its
    agents. Every rank must call `sum`, `gather`, `broadcast` and `agree` in the same order, with
    tensors of matching shapes.
    """

    rank, size = 0, 1
    first_env = 0  # the number of this rank's first environment
    num_on_machine = 1  # ranks on this machine, which share its cores
    device = torch.device("cpu")  # the device of this rank, if there are several ranks
    notices: tuple[str, ...] = ()  # messages for the start of the run
    shares: Sequence[Share] = ()  # the environments of each of several ranks
    watch: Watch | None = None  # of several processes: it exchanges their timings

    def __init__(self) -> None:
        self.clock = WaitClock()

    def sum(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over all ranks, in place and to the same bits everywhere; returns it."""
        return tensor

    def gather(self, tensor: Tensor, dim: int = 0) -> Tensor:
        """The rows of all ranks along `dim`, concatenated; the inverse of `my_slice`."""
        return tensor

    def broadcast(self, tensor: Tensor) -> Tensor:
        """Overwrite a tensor with rank 0's, bit for bit; returns it."""
        return tensor

    def my_slice(self, tensor: Tensor, dim: int = 0) -> Tensor:
        """A view of this rank's rows, from the rows of all ranks along `dim`."""
        return tensor

    def agree(self, stop: bool, checkpoint: bool, *parameters: Tensor) -> Agreement:
        """Stop if any rank wants to; save a checkpoint if rank 0 wants to. If the `parameters` of a
        rank differ in a bit, because different processors round differently, all ranks take those
        of rank 0.
        """
        return Agreement(stop, checkpoint)

    def my_rows(self, num_rows: int) -> range:
        """The numbers of this rank's rows, among the `num_rows` of all ranks."""
        return range(num_rows)

    def global_size(self, local_size: int) -> int:
        """The number of rows of all ranks if this rank has `local_size`."""
        return local_size


LOCAL = ProcessGroup()


class DistributedGroup(ProcessGroup):
    """The group of several ranks. `all_reduce` adds up a tensor over them, in place and to the same
    bits everywhere, so that all ranks compute the same results from it.
    """

    def __init__(
        self, rank: int, shares: Sequence[Share], all_reduce: Callable[[Tensor], None]
    ) -> None:
        super().__init__()
        self.rank, self.size, self._all_reduce = rank, len(shares), all_reduce
        self.shares = shares
        self.first_env, self._num_envs = shares[rank]
        self._total_envs = sum(share.num_envs for share in shares)

    def my_rows(self, num_rows: int) -> range:
        rows_per_env = num_rows // self._total_envs
        first = self.first_env * rows_per_env
        return range(first, first + self._num_envs * rows_per_env)

    def global_size(self, local_size: int) -> int:
        return local_size // self._num_envs * self._total_envs

    def my_slice(self, tensor: Tensor, dim: int = 0) -> Tensor:
        rows = self.my_rows(tensor.shape[dim])
        return tensor.narrow(dim, rows.start, len(rows))

    def sum(self, tensor: Tensor) -> Tensor:
        with self.clock.waiting():
            self._all_reduce(tensor)
        return tensor

    def gather(self, tensor: Tensor, dim: int = 0) -> Tensor:
        bits = _bits(tensor.contiguous())
        shape = list(bits.shape)
        shape[dim] = self.global_size(shape[dim])
        gathered = bits.new_zeros(shape)
        self.my_slice(gathered, dim).copy_(bits)
        return self.sum(gathered).view(tensor.dtype)

    @torch.no_grad()
    def broadcast(self, tensor: Tensor) -> Tensor:
        bits = _bits(tensor)
        if self.rank:
            bits.zero_()
        self.sum(bits)
        return tensor

    def agree(self, stop: bool, checkpoint: bool, *parameters: Tensor) -> Agreement:
        self._synchronize()
        checksum = 0
        for tensor in parameters:
            checksum = zlib.crc32(tensor.detach().cpu().view(torch.uint8).numpy().data, checksum)
        # Rank 0 subtracts its checksum once per other rank: the sum is 0 if all are equal.
        difference = checksum if self.rank else checksum * (1 - self.size)
        message = torch.tensor([stop, checkpoint and self.rank == 0, difference])
        stops, checkpoints, differ = self.sum(message).tolist()
        if differ:
            for tensor in parameters:
                self.broadcast(tensor)
            self._synchronize()
        return Agreement(bool(stops), bool(checkpoints))

    def _synchronize(self) -> None:
        """Wait for the device, so that every stream sees the parameters as they are now."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _bits(tensor: Tensor) -> Tensor:
    """The same memory as integers: adding zeros keeps every bit."""
    return tensor.view(INTEGERS[tensor.element_size()])
