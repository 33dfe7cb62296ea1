"""What a command starts: how many ranks on which machines, and where they meet."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ...shared.errors import OperantError, UsageError
from ...trainer.ranks.place import Place
from ...trainer.ranks.refusals import check_ranks
from .elastic import goes_on_by_itself, ready
from .nodes import HERE, LOOPBACK, Node, nodes_of

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig

MAX_RANKS = 1024


class Member(NamedTuple):
    """A rank and the machine that it is started on."""

    node: Node
    place: Place


@dataclass
class Launch:
    """`processes` ranks on each of `nodes`, of which the first is this machine; `split` is in the
    same order. They meet at `address` and the port of `listener`, once there is one.
    """

    nodes: Sequence[Node]
    processes: int
    split: str
    address: str = LOOPBACK
    listener: socket.socket | None = field(default=None, repr=False)
    asked: Sequence[str] = ()  # the options that were typed
    is_elastic: bool = False
    left_out: list[Node] = field(default_factory=list)  # of `nodes`, while a run goes on by itself

    @property
    def world_size(self) -> int:
        return len(self.nodes) * self.processes

    @property
    def is_here_alone(self) -> bool:
        return len(self.nodes) == 1

    def check(self, config: TrainConfig) -> None:
        """Raises ConfigError where the ranks cannot do what the configuration says, and, where
        there are other machines, OperantError for the first that is not ready for it. The ranks
        may then meet.
        """
        if self.is_elastic and goes_on_by_itself():
            self._leave_out(ready(self.nodes[1:], config))
        check_ranks(config, self.split, self.world_size)
        if self.is_here_alone:
            self.listener = listening(LOOPBACK, 0)
            return
        from .asking import address_for_all

        self.listener = listening("", _port_asked_for(os.environ))
        self.address = address_for_all(self.nodes[1:], config, self.listener, os.environ)

    def _leave_out(self, ready: Sequence[Node]) -> None:
        """Go on with this machine and those that are `ready`."""
        keeps = [node.is_here or node in ready for node in self.nodes]
        parts = self.split.split(":")
        if len(parts) == self.world_size:
            kept = [part for i, part in enumerate(parts) if keeps[i // self.processes]]
            self.split = ":".join(kept)
        self.left_out = [
            node for node, is_kept in zip(self.nodes, keeps, strict=True) if not is_kept
        ]
        self.nodes = [node for node, is_kept in zip(self.nodes, keeps, strict=True) if is_kept]

    def members(self) -> list[Member]:
        """All ranks in their order."""
        port = self.listener.getsockname()[1] if self.listener else 0
        found = []
        for rank in range(self.world_size):
            node, local_rank = divmod(rank, self.processes)
            place = Place(rank, self.world_size, local_rank, self.processes, self.address, port)
            found.append(Member(self.nodes[node], place))
        return found

    def as_argument(self) -> str:
        """For a process that inherits the listener."""
        told = {
            "nodes": self.nodes, "processes": self.processes, "split": self.split,
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
        return cls(nodes, told["processes"], told["split"], told["address"], listener,
                   told["asked"], told["is_elastic"], left_out)  # fmt: skip


def launch_of(
    processes: int | None, nodes: str | None, split: str, is_elastic: bool = False
) -> Launch | None:
    """What `--processes` and `--nodes` ask for; None where that is one process. Raises
    UsageError.
    """
    if processes is None and nodes is None:
        if is_elastic:
            raise UsageError("--elastic is for several ranks: --processes or --nodes start them")
        return None
    each = 1 if processes is None else processes
    machines = [HERE] if nodes is None else nodes_of(nodes)
    if len(machines) * each > MAX_RANKS:
        raise UsageError(f"{len(machines) * each} ranks are too many: {MAX_RANKS} are the most")
    if len(machines) * each == 1:
        return None
    first = next(i for i, node in enumerate(machines) if node.is_here)
    ordered = [machines[first], *machines[:first], *machines[first + 1 :]]
    options = {"--processes": processes, "--nodes": nodes, "--split": split or None}
    asked = [word for name, x in options.items() if x is not None for word in (name, str(x))]
    ordered_split = _reordered(split, first * each, each, len(machines) * each)
    return Launch(ordered, each, ordered_split, asked=asked, is_elastic=is_elastic)


def _reordered(split: str, first: int, count: int, world_size: int) -> str:
    """The parts of `split` with the `count` from `first` on, this machine's, before the others:
    rank 0 has the run, wherever its machine was named.
    """
    parts = split.split(":")
    if first == 0 or len(parts) != world_size:
        return split
    return ":".join([*parts[first : first + count], *parts[:first], *parts[first + count :]])


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
        raise UsageError(f"MASTER_PORT = {text} is no port")
    return int(text)
