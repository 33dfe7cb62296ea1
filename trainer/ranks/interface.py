"""Which network interface leads to the other ranks."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterable

import psutil


def address_towards(host: str, port: int) -> str:
    """The address of this machine that packets to `host` leave from; empty where none leads there.
    None is sent.
    """
    with contextlib.suppress(OSError):
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM
        ):
            with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as probe:
                probe.connect(address)
                return str(probe.getsockname()[0])
    return ""


def interface_of(address: str) -> str:
    """The name of the interface that has `address`; empty where none has."""
    plain = address.partition("%")[0]
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address.partition("%")[0] == plain for each in addresses):
            return str(name)
    return ""


def is_loopback(address: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    return False


def own_address(own: str, others: Iterable[str], port: int) -> str:
    """The address that the other ranks can reach this one at: `own`, unless that is a loopback's,
    as where a machine's own name is 127.0.1.1, and another's is not.
    """
    if not is_loopback(own):
        return own
    remote = [other for other in others if other and not is_loopback(other)]
    return address_towards(remote[0], port) or own if remote else own
