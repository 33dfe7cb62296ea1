"""What a machine says of itself before ranks are started on it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...shared.errors import OperantError
from .messages import answer_line

CONNECT_WITHIN_S = 5.0
MAX_ADDRESSES = 16


def answer(task: Mapping[str, Any]) -> None:
    """Say on standard output what versions are here, what the configuration of the task lacks, how
    many GPUs it could use, and which of its addresses lead to whoever asks.
    """
    from ...trainer.ranks.versions import versions
    from ...trainer.run.device import num_gpus

    found = {"versions": versions(), "lacks": "", "heard": {}, "num_gpus": 0}
    if found["versions"] == task["versions"]:  # others may not even know the configuration's keys
        found["lacks"] = lacking(task["config"])
        addresses = [*addresses_of_ssh(os.environ), *task["addresses"]]
        found["heard"] = heard(addresses, task["port"])
        found["num_gpus"] = num_gpus()
    sys.stdout.buffer.write(answer_line(found))
    sys.stdout.buffer.flush()


def lacking(values: Mapping[str, Any]) -> str:
    """Why this machine cannot train a configuration, in one line; empty where it can."""
    from ...trainer.config.files import make_config
    from ..machine import check_machine

    try:
        check_machine(make_config(dict(values)))
    except OperantError as error:
        return str(error)
    return ""


def addresses_of_ssh(environ: Mapping[str, str]) -> list[str]:
    """Where the ssh connection that this process hangs on comes from. A zone, behind `%`, means
    nothing on the other side.
    """
    words = environ.get("SSH_CONNECTION", "").split()
    return [word for word in words[:1] if "%" not in word]


def heard(addresses: Sequence[str], port: int) -> dict[str, str]:
    """What says who listens at each of the addresses, where anyone does."""
    tried = list(dict.fromkeys(addresses))[:MAX_ADDRESSES]
    with ThreadPoolExecutor(MAX_ADDRESSES) as pool:
        words = pool.map(lambda address: _word_of(address, port), tried)
        return {address: word for address, word in zip(tried, words, strict=True) if word}


def _word_of(address: str, port: int) -> str:
    try:
        with socket.create_connection((address, port), CONNECT_WITHIN_S) as connection:
            return connection.recv(64).decode("ascii", "replace")
    except OSError:
        return ""
