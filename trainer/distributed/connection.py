"""The connection that ranks add up tensors over, and the network interface that it uses."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import psutil
import torch
from torch import Tensor, distributed

from .place import Place
from .watch import RankLostError, Watch

CHECK_EVERY_S = 0.5  # how often a waiting sum checks for lost ranks
CHECK_GPU_EVERY_S = 50e-6
# Up to this size every rank sends its tensor to all others; a ring adds up larger ones on arrival.
MAX_EXCHANGED_BYTES = 2**17
MAX_EXTRA_BYTES = 2**18  # more than in a ring, to save its network delays
TIMEOUT = timedelta(days=7)  # the watch detects lost ranks, not this limit


def backend_of(device: str) -> str:
    """The backend for ranks that learn on this type of device: NCCL for GPUs, otherwise Gloo."""
    return "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"


def is_exchanged(num_bytes: int, world_size: int) -> bool:
    """Whether every rank sends its tensor to all others, instead of around a ring. It does if that
    costs few extra bytes.
    """
    in_a_ring = 2 * num_bytes * (world_size - 1) // world_size
    by_all = num_bytes * (world_size - 1)
    return num_bytes <= MAX_EXCHANGED_BYTES and by_all - in_a_ring <= MAX_EXTRA_BYTES


class Connection:
    """torch's process group, connecting all ranks; `watch` knows which ranks are alive."""

    def __init__(self, store: Any, place: Place, backend: str, address: str, watch: Watch) -> None:
        """Connects over the interface of `address`, unless GLOO_SOCKET_IFNAME names another, or
        NCCL_SOCKET_IFNAME one for GPUs. Raises RankLostError.
        """
        rank, world_size = place.rank, place.world_size
        self._watch, self._size, self._exchanges = watch, world_size, backend == "gloo"
        self.beat: Callable[[], object] = lambda: None  # called while a sum waits for others
        self.interface = os.environ.get("GLOO_SOCKET_IFNAME", "") or interface_of(address)
        if self.interface:
            for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
                os.environ.setdefault(name, self.interface)
        self._connect(backend, store, rank, world_size)

    def _connect(self, backend: str, store: Any, rank: int, world_size: int) -> None:
        """Connects in a thread, because waiting for a lost rank cannot be interrupted."""
        failed: list[RuntimeError] = []

        def connect() -> None:
            try:
                distributed.init_process_group(
                    backend, store=store, rank=rank, world_size=world_size, timeout=TIMEOUT
                )
            except RuntimeError as error:
                failed.append(error)

        thread = threading.Thread(target=connect, name="connecting", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(CHECK_EVERY_S)
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
        """Every rank sends its tensor to all others, and each adds them up in the order of ranks.
        This takes one network delay; Gloo's ring takes several.
        """
        sent = tensor.expand(self._size, *tensor.shape).contiguous()
        received = torch.empty_like(sent)
        self._wait(distributed.all_to_all_single(received, sent, async_op=True))
        tensor.copy_(received[0])
        for other in received[1:]:
            tensor.add_(other)

    def _wait(self, work: Any) -> None:
        while True:
            is_completed = work.is_completed()
            try:
                work.wait(timedelta(seconds=CHECK_EVERY_S))
                return
            except RuntimeError as error:
                if is_completed:  # else it may be only the timeout
                    raise self._lost(error) from None
            self._while_waiting()

    def _while_waiting(self) -> None:
        self._watch.check()
        self.beat()

    def _wait_on_gpu(self, work: Any) -> None:
        """Polls for the result: NCCL's own `wait` blocks the device, forever if a rank is lost."""
        try:
            while not work.is_completed():
                self._watch.check()
                time.sleep(CHECK_GPU_EVERY_S)
            work.wait()  # later work of the device comes after it
        except RuntimeError as error:
            raise self._lost(error) from None

    def close(self) -> None:
        """Leave when all ranks have called this."""
        self.all_reduce(torch.zeros(1))
        distributed.destroy_process_group()

    def _lost(self, error: RuntimeError) -> RankLostError:
        line = str(error).partition("\n")[0].partition("] ")[2][:200] or str(error)[:200]
        return RankLostError(self._watch.who_is_lost() or f"another rank is lost: {line}")


def address_towards(host: str, port: int) -> str:
    """This machine's address for packets to `host`, computed without sending any; empty if there is
    no route.
    """
    with contextlib.suppress(OSError):
        for family, sort, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM
        ):
            with (
                contextlib.suppress(OSError),
                socket.socket(family, sort, protocol) as probe,
            ):
                probe.connect(address)
                return str(probe.getsockname()[0])
    return ""


def interface_of(address: str) -> str:
    """The name of the network interface with this address; empty if there is none."""
    plain = address.partition("%")[0]
    for name, addresses in psutil.net_if_addrs().items():
        if any(entry.address.partition("%")[0] == plain for entry in addresses):
            return str(name)
    return ""


def is_loopback(address: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    return False


def reachable_address(address: str, others: Iterable[str], port: int) -> str:
    """The address where the other ranks can reach this one. It is `address`, unless that is a
    loopback address, to which a machine's own name may resolve, and another rank's address is not.
    """
    if not is_loopback(address):
        return address
    remote = [other for other in others if other and not is_loopback(other)]
    return address_towards(remote[0], port) or address if remote else address
