"""The answer of a machine that is asked whether ranks can be started on it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...shared.errors import OperantError
from .rank_process import answer_line

CONNECT_WITHIN_S = 5.0
MAX_ADDRESSES = 16


def answer(task: Mapping[str, Any]) -> None:
    """Write to standard output: the versions here, what is missing for the task's configuration,
    the number of GPUs, and which addresses reach the machine that asks.
    """
    from ...trainer.distributed.meeting import versions
    from ...trainer.machine.device import num_gpus

    reply = {"versions": versions(), "lacks": "", "heard": {}, "num_gpus": 0}
    if reply["versions"] == task["versions"]:  # another version may not know all keys
        reply["lacks"] = lacking(task["config"])
        addresses = [*addresses_of_ssh(os.environ), *task["addresses"]]
        reply["heard"] = heard(addresses, task["port"])
        reply["num_gpus"] = num_gpus()
    sys.stdout.buffer.write(answer_line(reply))
    sys.stdout.buffer.flush()


def lacking(values: Mapping[str, Any]) -> str:
    """Why this machine cannot train a configuration, in one line; empty if it can."""
    from ...trainer.config.from_values import make_config
    from ..helpers.machine import check_machine

    try:
        check_machine(make_config(dict(values)))
    except OperantError as error:
        return str(error)
    return ""


def addresses_of_ssh(environ: Mapping[str, str]) -> list[str]:
    """The address that the ssh connection of this process comes from. An address with a zone,
    behind `%`, is only valid on the other side.
    """
    addresses = environ.get("SSH_CONNECTION", "").split()
    return [address for address in addresses[:1] if "%" not in address]


def heard(addresses: Sequence[str], port: int) -> dict[str, str]:
    """The token that each reachable address sends, by address."""
    tried = list(dict.fromkeys(addresses))[:MAX_ADDRESSES]
    with ThreadPoolExecutor(MAX_ADDRESSES) as pool:
        tokens = pool.map(lambda address: _token_of(address, port), tried)
        return {address: token for address, token in zip(tried, tokens, strict=True) if token}


def _token_of(address: str, port: int) -> str:
    try:
        with socket.create_connection((address, port), CONNECT_WITHIN_S) as connection:
            return connection.recv(64).decode("ascii", "replace")
    except OSError:
        return ""
