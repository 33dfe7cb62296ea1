"""Several machines on one: network namespaces, whose packets a relay delays, loses or drops.

Linux, root, `ip` and /dev/net/tun are needed; `why_none` says what lacks. The relay stands in for
`tc netem`, which many kernels lack. It takes some of a core, and about 20 MB/s pass through it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TUN = Path("/dev/net/tun")
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MOST_BYTES = 2000  # of a packet, which is 1500 at most


_NUMBERS = itertools.count()


def why_none() -> str:
    """Why there cannot be machines here; empty where there can."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    if not shutil.which("ip"):
        return "there is no `ip`"
    if not os.access(TUN, os.W_OK):
        return f"there is no {TUN}"
    if subprocess.run(["ip", "netns", "add", "operant-try"], capture_output=True).returncode:
        return "network namespaces cannot be made"
    subprocess.run(["ip", "netns", "delete", "operant-try"], check=True)
    return ""


class Machines:
    """`count` of them, with the addresses 10.77.0.1 and so on. A packet from one to another takes
    `delay_s`, and the fraction `loss` never arrives.
    """

    def __init__(self, count: int, delay_s: float = 0.0, loss: float = 0.0) -> None:
        self.addresses = [f"10.77.0.{i + 1}" for i in range(count)]
        self._names = [f"operant-{os.getpid()}-{next(_NUMBERS)}" for _ in range(count)]
        self.delay_s, self.loss = delay_s, loss
        self.cut_off: set[int] = set()  # whose cable is pulled
        self._tuns: list[int] = []
        self._is_over = threading.Event()
        self._relaying = threading.Thread(target=self._relay, daemon=True)

    def __enter__(self) -> Machines:
        with contextlib.ExitStack() as stack:
            stack.callback(self._clean_up)
            for name, address in zip(self._names, self.addresses, strict=True):
                subprocess.run(["ip", "netns", "add", name], check=True)
                self._tuns.append(_tun_in(name))
                for settings in (
                    f"address add {address}/24 dev wire", "link set wire up", "link set lo up"
                ):  # fmt: skip
                    subprocess.run(["ip", "-n", name, *settings.split()], check=True)
            stack.pop_all()
        self._relaying.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._relaying.join()
        self._clean_up()

    def command(self, machine: int, arguments: Sequence[str]) -> list[str]:
        """The command that runs a program on a machine."""
        return ["ip", "netns", "exec", self._names[machine], *arguments]

    def _clean_up(self) -> None:
        for tun in self._tuns:
            os.close(tun)
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)

    def _relay(self) -> None:
        """Take packets from everyone, and give each to whom it is for, when it is due."""
        due: list[tuple[float, int, int, bytes]] = []
        numbers, chance = itertools.count(), random.Random(1)
        while not self._is_over.is_set():
            wait_s = min(max(due[0][0] - time.monotonic(), 0.0), 0.1) if due else 0.1
            for tun in select.select(self._tuns, [], [], wait_s)[0]:
                source, packet = self._tuns.index(tun), os.read(tun, MOST_BYTES)
                target = packet[19] - 1 if packet[0] >> 4 == 4 else -1
                is_known = 0 <= target < len(self._tuns)
                if (
                    is_known
                    and not self.cut_off & {source, target}
                    and chance.random() >= self.loss
                ):
                    at = time.monotonic() + self.delay_s
                    heapq.heappush(due, (at, next(numbers), target, packet))
            while due and due[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(due)
                with contextlib.suppress(OSError):
                    os.write(self._tuns[target], packet)


def _tun_in(namespace: str) -> int:
    """A network device `wire` there; what is sent to it is read from the descriptor."""
    found: list[Any] = []

    def make() -> None:  # in a thread: a namespace is one's own
        try:
            with open(f"/run/netns/{namespace}") as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            tun = os.open(TUN, os.O_RDWR)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"wire", IFF_TUN | IFF_NO_PI))
            found.append(tun)
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    tun: int = found[0]
    return tun


def rank_environ(machines: Machines, rank: int, port: int) -> dict[str, str]:
    """The environment that torchrun gives the only rank of a machine."""
    count = len(machines.addresses)
    return {
        **os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": machines.addresses[0], "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def start_rank(
    machines: Machines, rank: int, port: int, arguments: Sequence[str], said: Path,
    environ: dict[str, str],
) -> subprocess.Popen[bytes]:  # fmt: skip
    """A rank on the machine of its number; what it says is written to `said`."""
    environ = {**rank_environ(machines, rank, port), **environ}
    with said.open("wb") as file:
        command = machines.command(rank, arguments)
        return subprocess.Popen(command, env=environ, stdout=file, stderr=file)


def ports() -> Iterator[int]:
    """Nobody else is in these namespaces, but what was used just now may linger."""
    return itertools.cycle(range(29_500, 29_900))
