"""What a command starts: how many ranks on which machines, and where they meet."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...shared.errors import OperantError, UsageError
from ...trainer.ranks.place import MAX_RANKS, Place
from ...trainer.ranks.refusals import check_ranks
from .elastic import ask_again_s, goes_on_by_itself, say_left_out
from .nodes import HERE, LOOPBACK, Node, nodes_of

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig

ONE_IS_NOT_ELASTIC = "--elastic is for several ranks: --processes or --nodes start them"

T = TypeVar("T")


class Member(NamedTuple):
    """A rank and the machine that it is started on."""

    node: Node
    place: Place


@dataclass
class Launch:
    """Ranks on each of `nodes`, of which the first is this machine: `counts` in the same order, as
    is the `split`. They meet at `address` and the port of `listener`, once there is one.
    """

    nodes: Sequence[Node]
    counts: Sequence[int]
    split: str
    address: str = LOOPBACK
    listener: socket.socket | None = field(default=None, repr=False)
    asked: Mapping[str, str] = field(default_factory=dict)  # the options that were typed
    is_elastic: bool = False
    left_out: list[Node] = field(default_factory=list)  # of `nodes`, while a run goes on by itself
    first: int = 0  # where this machine stood among the names

    @property
    def world_size(self) -> int:
        return sum(self.counts)

    @property
    def is_here_alone(self) -> bool:
        return len(self.nodes) == 1

    def again(self) -> list[str]:
        """The options that start the same ranks, and not by what GPUs there are then."""
        return [word for option in self.asked.items() for word in option]

    def check(self, config: TrainConfig) -> None:
        """Raises ConfigError where the ranks cannot do what the configuration says, and, where
        there are other machines, OperantError for the first that is not ready for it. The ranks
        may then meet.
        """
        if self.is_elastic:
            ask_again_s(os.environ)
        is_by_gpu = config.device == "cuda" and "--processes" not in self.asked
        if not is_by_gpu:
            check_ranks(config, self.split, self.world_size)
        if self.is_here_alone:
            self.listener = listening(LOOPBACK, 0)
            return
        from ...trainer.run.device import num_gpus
        from .asking import meeting_place

        self.listener = listening("", _port_asked_for(os.environ))
        leave_out = say_left_out if self.is_elastic and goes_on_by_itself() else None
        place = meeting_place(self.nodes[1:], config, self.listener, os.environ, leave_out)
        self.address = place.address
        if is_by_gpu:
            self._start_one_per_gpu([num_gpus(), *place.num_gpus])
        self._leave_out(place.nodes)
        check_ranks(config, self.split, self.world_size)

    def _start_one_per_gpu(self, num_gpus: Sequence[int]) -> None:
        counts = [max(1, number) for number in num_gpus]
        self.counts = counts
        typed = [*counts[1 : self.first + 1], counts[0], *counts[self.first + 1 :]]
        _check_number(sum(typed))
        self.asked = {**self.asked, "--processes": ",".join(map(str, typed))}
        self.split = _here_first_split(self.asked.get("--split", ""), self.first, typed)

    def _leave_out(self, ready: Sequence[Node]) -> None:
        """Go on with this machine and those that are `ready`."""
        keeps = [node.is_here or node in ready for node in self.nodes]
        parts = self.split.split(":")
        if len(parts) == self.world_size:
            is_kept = [keep for keep, n in zip(keeps, self.counts, strict=True) for _ in range(n)]
            self.split = ":".join(compress(parts, is_kept))
        self.left_out = [node for node, keep in zip(self.nodes, keeps, strict=True) if not keep]
        self.nodes = list(compress(self.nodes, keeps))
        self.counts = list(compress(self.counts, keeps))

    def members(self) -> list[Member]:
        """All ranks in their order."""
        port = self.listener.getsockname()[1] if self.listener else 0
        found: list[Member] = []
        for node, count in zip(self.nodes, self.counts, strict=True):
            for local_rank in range(count):
                rank = len(found)
                place = Place(rank, self.world_size, local_rank, count, self.address, port)
                found.append(Member(node, place))
        return found

    def as_argument(self) -> str:
        """For a process that inherits the listener."""
        told = {
            "nodes": self.nodes, "counts": self.counts, "split": self.split,
            "asked": self.asked, "is_elastic": self.is_elastic, "left_out": self.left_out,
        }  # fmt: skip
        fd = self.listener.fileno() if self.listener else -1
        return json.dumps({**told, "address": self.address, "fd": fd})

    @classmethod
    def of_argument(cls, text: str) -> Launch:
        told = json.loads(text)
        nodes = [Node(*node) for node in told["nodes"]]
        listener = socket.socket(fileno=told["fd"])
        left_out = [Node(*node) for node in told["left_out"]]
        return cls(nodes, told["counts"], told["split"], told["address"], listener,
                   told["asked"], told["is_elastic"], left_out)  # fmt: skip


def launch_of(
    processes: str | None, nodes: str | None, split: str, is_elastic: bool = False
) -> Launch | None:
    """What `--processes` and `--nodes` ask for; None where that is one process. Raises
    UsageError.
    """
    if processes is None and nodes is None:
        if is_elastic:
            raise UsageError(ONE_IS_NOT_ELASTIC)
        return None
    machines = [HERE] if nodes is None else nodes_of(nodes)
    counts = _counts(processes, len(machines))
    if sum(counts) == 1:
        if is_elastic:
            raise UsageError(f"{ONE_IS_NOT_ELASTIC}, and these are one")
        return None
    first = next(i for i, node in enumerate(machines) if node.is_here)
    options = {"--processes": processes, "--nodes": nodes, "--split": split or None}
    return Launch(
        _here_first(machines, first),
        _here_first(counts, first),
        _here_first_split(split, first, counts),
        asked={name: value for name, value in options.items() if value is not None},
        is_elastic=is_elastic,
        first=first,
    )


def _counts(processes: str | None, num_machines: int) -> list[int]:
    """How many ranks each machine has: of `2` all have two, of `2,1` the first two."""
    if processes is None:
        return [1] * num_machines
    if not re.fullmatch(r"0*[1-9]\d{0,8}(,0*[1-9]\d{0,8})*", processes, re.ASCII):
        raise UsageError(
            f"--processes {processes} is not a number of processes; write 2, or 2,1,1 for three "
            "machines"
        )
    counts = [int(number) for number in processes.split(",")]
    if len(counts) == 1:
        counts *= num_machines
    if len(counts) != num_machines:
        raise UsageError(
            f"--processes {processes}: {len(counts)} numbers for {num_machines} "
            f"{'machine' if num_machines == 1 else 'machines'}; one number is for each of them"
        )
    _check_number(sum(counts))
    return counts


def _check_number(num_ranks: int) -> None:
    if num_ranks > MAX_RANKS:
        raise UsageError(f"{num_ranks} ranks are too many: {MAX_RANKS} are the most")


def _here_first(items: Sequence[T], first: int) -> list[T]:
    return [items[first], *items[:first], *items[first + 1 :]]


def _here_first_split(split: str, first: int, counts: Sequence[int]) -> str:
    """The parts of `split` for `counts` ranks a machine, with those of this machine, the `first`,
    before the others: rank 0 has the run, wherever its machine was named.
    """
    parts = split.split(":")
    if len(parts) != sum(counts):
        return split
    ends = list(accumulate(counts))
    of_machines = [parts[end - n : end] for end, n in zip(ends, counts, strict=True)]
    return ":".join(chain.from_iterable(_here_first(of_machines, first)))


def listening(address: str, port: int) -> socket.socket:
    """A socket that listens, at all addresses where `address` is empty. Raises OperantError where
    the port is in use.
    """
    try:
        if not address and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=MAX_RANKS
            )
        return socket.create_server((address, port), backlog=MAX_RANKS)
    except OSError as error:
        why = "it is in use" if "in use" in str(error) else error.strerror
        raise OperantError(f"cannot listen at port {port}, where ranks meet: {why}") from None


def _port_asked_for(environ: Mapping[str, str]) -> int:
    """$MASTER_PORT, as a firewall may need it; 0 for any that is free."""
    text = environ.get("MASTER_PORT", "0")
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise UsageError(f"MASTER_PORT = {text} is not a port")
    return int(text)
