"""The machines that a command names."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from typing import NamedTuple

import psutil

from ...shared.errors import UsageError

LOOPBACK = "127.0.0.1"

# Of `me@mini:2222=venv/bin/operant`; an IPv6 address has colons and no port.
_NODE = re.compile(r"(?P<host>(?:[^@:]+@)?(?:[^@:]+|[0-9a-fA-F:]+))(?::(?P<port>\d{1,5}))?")


class Node(NamedTuple):
    """A machine by the name that ssh reaches it by, and what starts operant there: '' is found.
    That which the command is typed on has no `host`.
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
    """`laptop,me@mini:2222,air=venv/bin/operant`, in its order. Raises UsageError where a name is
    none or comes twice, and where none is that of this machine.
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
    found = _NODE.fullmatch(name)
    is_odd = not found or name.startswith("-") or any(letter.isspace() for letter in name)
    if not found or is_odd or (equals and not command.strip()):
        raise UsageError(
            f"--nodes {text}: '{part}' is not a machine; write HOST, USER@HOST:PORT, and behind it "
            "=COMMAND where operant is not on the PATH there"
        )
    return Node(name, found["host"], found["port"] or "", command.strip())


def is_this_machine(name: str) -> bool:
    """Whether a name without user and port is this machine's own, or one of its addresses. Nobody
    is asked: what else leads here ssh reaches.
    """
    own = socket.gethostname().lower()
    if name.lower() in ("localhost", own, own.partition(".")[0]):
        return True
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(name)) in own_addresses(with_loopback=True)
    return False


def own_addresses(with_loopback: bool = False) -> list[str]:
    """The addresses that others may reach this machine at, IPv4 first."""
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for addresses in psutil.net_if_addrs().values():
            for each in addresses:
                # With a zone behind it, one is good for a single link.
                if each.family == family and "%" not in each.address:
                    found.append(each.address)
    return [one for one in found if with_loopback or not ipaddress.ip_address(one).is_loopback]
