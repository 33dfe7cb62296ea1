"""How another machine is reached: by the user's own ssh, with the user's own settings."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from ...shared.errors import UsageError

CONNECT_WITHIN_S = 15
# A connection that says nothing for 45 s is lost, and made anew.
_PATIENCE = (
    *("-o", f"ConnectTimeout={CONNECT_WITHIN_S}"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "ServerAliveCountMax=3"),
)
SSH_NOT_REACHED = 255
SHELL_NOT_FOUND = 127


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
    """The command that streams a run from its host.

    $OPERANT_SSH takes the place of `ssh`, options included; $OPERANT_REMOTE that of `operant` on
    the other side, for where it is not on the PATH that ssh's shell has. `may_ask` lets ssh ask for
    a password; later, under a full screen, it must not.
    """
    ssh = shlex.split(os.environ.get("OPERANT_SSH", "ssh"))
    asking = [] if may_ask else ["-o", "BatchMode=yes"]
    remote = os.environ.get("OPERANT_REMOTE", "operant")
    run = f"-- {shlex.quote(name.run)}" if name.run else "--latest"
    return [*ssh, "-T", *_PATIENCE, *asking, name.host, f"{remote} stream {run}"]
