"""The machines that a command names, and the socket of this one where ranks meet."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from typing import NamedTuple

import psutil

from ...shared.errors import OperantError, UsageError
from ...trainer.distributed.place import MAX_RANKS

LOOPBACK = "127.0.0.1"

# Of `me@mini:2222=venv/bin/operant`; an IPv6 address has colons and no port.
_NODE = re.compile(r"(?P<host>(?:[^@:]+@)?(?:[^@:]+|[0-9a-fA-F:]+))(?::(?P<port>\d{1,5}))?")


class Node(NamedTuple):
    """A machine: its name for ssh, and the command that starts operant there; '' for the command
    that a login shell finds. The machine where the user types has no `host`.
    """

    name: str
    host: str = ""
    port: str = ""
    command: str = ""

    @property
    def is_here(self) -> bool:
        return not self.host


HERE = Node("this machine")


def nodes_of(text: str) -> list[Node]:
    """The machines in `laptop,me@mini:2222,air=venv/bin/operant`, in this order. Raises UsageError
    for an invalid name, for a repeated one, and if this machine is not among them.
    """
    nodes = [_node(part.strip(), text) for part in text.split(",")]
    seen: set[tuple[str, str]] = set()
    for node in nodes:
        place = (node.host.rpartition("@")[2].lower(), node.port)
        if place in seen:
            raise UsageError(
                f"--nodes {text}: {'this machine' if node.is_here else node.name} is there twice; "
                "--processes starts several on each machine"
            )
        seen.add(place)
    if not any(node.is_here for node in nodes):
        raise UsageError(
            f"--nodes {text} is without this machine ({socket.gethostname()}), which keeps the run "
            "and learns as well; name it, or start the run on one of those"
        )
    return nodes


def _node(part: str, text: str) -> Node:
    if not part:
        raise UsageError(f"--nodes {text}: a name is empty; write laptop,mini,air")
    name, equals, command = part.partition("=")
    if not equals and is_this_machine(name):
        return Node(name)
    match = _NODE.fullmatch(name)
    is_invalid = not match or name.startswith("-") or any(letter.isspace() for letter in name)
    if not match or is_invalid or (equals and not command.strip()):
        raise UsageError(
            f"--nodes {text}: '{part}' is not a machine; write HOST, USER@HOST:PORT, and behind it "
            "=COMMAND where operant is not on the PATH there"
        )
    return Node(name, match["host"], match["port"] or "", command.strip())


def is_this_machine(name: str) -> bool:
    """Whether a name without user and port is this machine's, or one of its addresses. No name
    server is asked; ssh reaches this machine by any other name.
    """
    hostname = socket.gethostname().lower()
    if name.lower() in ("localhost", hostname, hostname.partition(".")[0]):
        return True
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(name)) in own_addresses(with_loopback=True)
    return False


def own_addresses(with_loopback: bool = False) -> list[str]:
    """The addresses at which others may reach this machine, IPv4 first."""
    usable = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for addresses in psutil.net_if_addrs().values():
            for entry in addresses:
                # An address with a zone is valid on one link only.
                if entry.family == family and "%" not in entry.address:
                    usable.append(entry.address)
    return [one for one in usable if with_loopback or not ipaddress.ip_address(one).is_loopback]


def listening(address: str, port: int) -> socket.socket:
    """A socket that listens at `address`, or at all addresses if that is empty. Raises OperantError
    if the port is in use.
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
