"""A run on another machine: its name, and the command that streams it from there."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from ...shared.errors import UsageError
from ...shared.ssh import remote_operant, ssh_command


class RemoteName(NamedTuple):
    """`HOST:RUN` taken apart; without RUN, the latest run of that host."""

    host: str
    run: str

    def __str__(self) -> str:
        return f"{self.host}:{self.run}"


def remote_name(wanted: str) -> RemoteName | None:
    """HOST:RUN, or None when `wanted` names no host. Raises UsageError for a host that ssh would
    take for an option.
    """
    host, colon, run = wanted.rpartition(":")
    if not colon:
        return None
    if not host or host.startswith("-") or any(letter.isspace() for letter in host):
        raise UsageError(f"'{wanted}' names no host; write HOST:RUN, as 'gpu-box:cart_pole'")
    return RemoteName(host, run)


def stream_command(name: RemoteName, *, may_ask: bool) -> list[str]:
    """The command that streams a run from its host; see `ssh_command`.

    $OPERANT_REMOTE takes the place of `operant` on the other side, for where it is not on the PATH
    that ssh's shell has.
    """
    run = f"-- {shlex.quote(name.run)}" if name.run else "--latest"
    command = f"{remote_operant() or 'operant'} stream {run}"
    return ssh_command(name.host, command, may_ask=may_ask)
