"""The ranks that a command starts: how many on which machines, and where they meet."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...shared.errors import UsageError
from ...trainer.distributed.place import MAX_RANKS, Place
from ...trainer.experiment.plan import check_ranks
from .nodes import HERE, LOOPBACK, Node, listening, nodes_of

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig

T = TypeVar("T")


class Member(NamedTuple):
    """A rank and the machine that it is started on."""

    node: Node
    place: Place


@dataclass
class Launch:
    """The number of ranks (`counts`) on each of `nodes`, the first of which is this machine, and
    the `split` in the same order. They meet at `address` and the port of `listener`.
    """

    nodes: Sequence[Node]
    counts: Sequence[int]
    split: str
    address: str = LOOPBACK
    listener: socket.socket | None = field(default=None, repr=False)
    has_counts: bool = True  # whether the user chose the number of processes
    typed_split: str = ""  # in the order of the typed names
    first: int = 0  # the place of this machine among the typed names

    @property
    def world_size(self) -> int:
        return sum(self.counts)

    @property
    def is_here_alone(self) -> bool:
        return len(self.nodes) == 1

    def check(self, config: TrainConfig) -> None:
        """Find the address where the ranks can meet. Raises ConfigError if ranks cannot train the
        configuration, and OperantError for the first other machine that is not ready.
        """
        is_by_gpu = config.device == "cuda" and not self.has_counts
        if not is_by_gpu:
            check_ranks(config, self.split, self.world_size)
        if self.is_here_alone:
            self.listener = listening(LOOPBACK, 0)
            return
        from ...trainer.machine.device import num_gpus
        from .asking import meeting_place

        self.listener = listening("", _port_asked_for(os.environ))
        place = meeting_place(self.nodes[1:], config, self.listener, os.environ)
        self.address = place.address
        if is_by_gpu:
            self._start_one_per_gpu([num_gpus(), *place.num_gpus])
        check_ranks(config, self.split, self.world_size)

    def _start_one_per_gpu(self, num_gpus: Sequence[int]) -> None:
        counts = [max(1, number) for number in num_gpus]
        self.counts = counts
        typed = [*counts[1 : self.first + 1], counts[0], *counts[self.first + 1 :]]
        _check_number(sum(typed))
        self.split = _local_first_split(self.typed_split, self.first, typed)

    def members(self) -> list[Member]:
        """All ranks in order."""
        port = self.listener.getsockname()[1] if self.listener else 0
        members: list[Member] = []
        for node, count in zip(self.nodes, self.counts, strict=True):
            for local_rank in range(count):
                rank = len(members)
                place = Place(rank, self.world_size, local_rank, count, self.address, port)
                members.append(Member(node, place))
        return members

    def as_argument(self) -> str:
        """For a process that inherits the listener."""
        fields = {"nodes": self.nodes, "counts": self.counts, "split": self.split}
        fd = self.listener.fileno() if self.listener else -1
        return json.dumps({**fields, "address": self.address, "fd": fd})

    @classmethod
    def of_argument(cls, text: str) -> Launch:
        fields = json.loads(text)
        nodes = [Node(*node) for node in fields["nodes"]]
        listener = socket.socket(fileno=fields["fd"])
        return cls(nodes, fields["counts"], fields["split"], fields["address"], listener)


def launch_of(processes: str | None, nodes: str | None, split: str) -> Launch | None:
    """The ranks that `--processes` and `--nodes` ask for; None for one process. Raises
    UsageError.
    """
    if processes is None and nodes is None:
        return None
    machines = [HERE] if nodes is None else nodes_of(nodes)
    counts = _counts(processes, len(machines))
    if sum(counts) == 1:
        return None
    first = next(i for i, node in enumerate(machines) if node.is_here)
    return Launch(
        _local_first(machines, first),
        _local_first(counts, first),
        _local_first_split(split, first, counts),
        has_counts=processes is not None,
        typed_split=split,
        first=first,
    )


def _counts(processes: str | None, num_machines: int) -> list[int]:
    """The number of ranks of each machine: `2` applies to all machines, `2,1` to one after the
    other.
    """
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


def _local_first(items: Sequence[T], first: int) -> list[T]:
    return [items[first], *items[:first], *items[first + 1 :]]


def _local_first_split(split: str, first: int, counts: Sequence[int]) -> str:
    """`split` in the order of ranks, for `counts` ranks of each machine: this machine, the `first`,
    comes before the others, because rank 0 owns the run.
    """
    parts = split.split(":")
    if len(parts) != sum(counts):
        return split
    ends = list(accumulate(counts))
    of_machines = [parts[end - n : end] for end, n in zip(ends, counts, strict=True)]
    return ":".join(chain.from_iterable(_local_first(of_machines, first)))


def _port_asked_for(environ: Mapping[str, str]) -> int:
    """$MASTER_PORT, which a firewall may require; 0 for any free port."""
    text = environ.get("MASTER_PORT", "0")
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise UsageError(f"MASTER_PORT = {text} is not a port")
    return int(text)
