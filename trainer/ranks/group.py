"""The process group that ranks add up numbers in."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed

from .interface import interface_of
from .watch import RankLostError, Watch

LOOK_UP_S = 0.5  # while a sum waits for other ranks, who may wait for an evaluation
LOOK_AGAIN_S = 50e-6  # likewise, at a GPU
MOST_BYTES = 2**17  # of what is exchanged: more a ring sums up as it arrives
BYTES_MORE = 2**18  # that a rank may send to save ways over the wire
LONGEST_WAIT = timedelta(days=7)  # who is gone the watch finds out, not a limit


def backend_of(device: str) -> str:
    """What adds up tensors where all ranks learn on this kind of device: NCCL those on GPUs, and
    Gloo those in main memory.
    """
    return "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"


def is_exchanged(num_bytes: int, world_size: int) -> bool:
    """Whether a sum is made at once by all, rather than in a ring: where that is few bytes more."""
    in_a_ring = 2 * num_bytes * (world_size - 1) // world_size
    by_all = num_bytes * (world_size - 1)
    return num_bytes <= MOST_BYTES and by_all - in_a_ring <= BYTES_MORE


class Group:
    """All ranks, connected to one another; `watch` knows who is alive."""

    def __init__(
        self, store: Any, rank: int, world_size: int, backend: str, address: str, watch: Watch
    ) -> None:
        """Connections are at the interface of `address`, unless GLOO_SOCKET_IFNAME names another,
        or NCCL_SOCKET_IFNAME one for GPUs. Raises RankLostError.
        """
        self._watch, self._size, self._exchanges = watch, world_size, backend == "gloo"
        self.beat: Callable[[], object] = lambda: None  # called now and then while others are slow
        self.interface = os.environ.get("GLOO_SOCKET_IFNAME", "") or interface_of(address)
        if self.interface:
            for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
                os.environ.setdefault(name, self.interface)
        self._connect(backend, store, rank, world_size)

    def _connect(self, backend: str, store: Any, rank: int, world_size: int) -> None:
        """By a thread: who waits there for a rank that is gone meanwhile cannot be called off."""
        failed: list[RuntimeError] = []

        def connect() -> None:
            try:
                distributed.init_process_group(
                    backend, store=store, rank=rank, world_size=world_size, timeout=LONGEST_WAIT
                )
            except RuntimeError as error:
                failed.append(error)

        thread = threading.Thread(target=connect, name="connecting", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(LOOK_UP_S)
            if thread.is_alive():
                self._watch.check()
        if failed:
            raise self._lost(failed[0])

    @torch.no_grad()
    def all_reduce(self, tensor: Tensor) -> None:
        """Add up `tensor` over all ranks, in place, to the same bits everywhere. Raises
        RankLostError.
        """
        if self._exchanges and is_exchanged(tensor.nbytes, self._size):
            self._exchange(tensor)
        else:
            wait = self._wait_on_gpu if tensor.is_cuda else self._wait
            wait(distributed.all_reduce(tensor, async_op=True))

    def _exchange(self, tensor: Tensor) -> None:
        """All give theirs to all, and each adds up, in the order of ranks: one way over the wire,
        where Gloo's ring takes several, one after the other.
        """
        given = tensor.expand(self._size, *tensor.shape).contiguous()
        found = torch.empty_like(given)
        self._wait(distributed.all_to_all_single(found, given, async_op=True))
        tensor.copy_(found[0])
        for other in found[1:]:
            tensor.add_(other)

    def _wait(self, work: Any) -> None:
        while True:
            is_over = work.is_completed()
            try:
                work.wait(timedelta(seconds=LOOK_UP_S))
                return
            except RuntimeError as error:
                if is_over:  # else it may be that time alone was up
                    raise self._lost(error) from None
            self._watch.check()
            self.beat()

    def _wait_on_gpu(self, work: Any) -> None:
        """NCCL's own `wait` has the device wait alone, and for ever where a rank is lost."""
        try:
            while not work.is_completed():
                self._watch.check()
                time.sleep(LOOK_AGAIN_S)
            work.wait()  # what the device does next comes after it
        except RuntimeError as error:
            raise self._lost(error) from None

    def close(self) -> None:
        """Once all have got here: leave together."""
        self.all_reduce(torch.zeros(1))
        distributed.destroy_process_group()

    def _lost(self, error: RuntimeError) -> RankLostError:
        told = str(error).partition("\n")[0].partition("] ")[2][:200] or str(error)[:200]
        return RankLostError(self._watch.who_is_lost() or f"another rank is lost: {told}")
