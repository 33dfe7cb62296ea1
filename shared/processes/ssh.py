"""How another machine is reached: by the user's own ssh, with the user's own settings."""

from __future__ import annotations

import os
import shlex

CONNECT_WITHIN_S = 15
# A connection that says nothing for 45 s is lost.
_PATIENCE = (
    *("-o", f"ConnectTimeout={CONNECT_WITHIN_S}"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "ServerAliveCountMax=3"),
)
SSH_NOT_REACHED = 255
SHELL_NOT_FOUND = 127
REMOTE = "OPERANT_REMOTE"


def ssh_command(host: str, command: str, *, may_ask: bool, port: str = "") -> list[str]:
    """What runs `command` in a shell on `host`, without a terminal.

    $OPERANT_SSH takes the place of `ssh`, options included. `may_ask` lets ssh ask for a password;
    under a full screen, or where several hosts are reached at once, it must not.
    """
    ssh = shlex.split(os.environ.get("OPERANT_SSH", "ssh"))
    asking = [] if may_ask else ["-o", "BatchMode=yes"]
    return [*ssh, "-T", *_PATIENCE, *asking, *(["-p", port] if port else []), host, command]


def remote_operant() -> str:
    """$OPERANT_REMOTE, what starts operant on the other side; empty where that is not set."""
    return os.environ.get(REMOTE, "")
