"""Commands on other machines, through the user's ssh and its settings."""

from __future__ import annotations

import os
import shlex

CONNECT_WITHIN_S = 15
# A connection that is silent for 45 s is lost.
_PATIENCE = (
    *("-o", f"ConnectTimeout={CONNECT_WITHIN_S}"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "ServerAliveCountMax=3"),
)
SSH_NOT_REACHED = 255
SHELL_NOT_FOUND = 127
REMOTE = "OPERANT_REMOTE"


def ssh_command(host: str, command: str, *, may_ask: bool, port: str = "") -> list[str]:
    """The command line that runs `command` in a shell on `host`, without a terminal.

    $OPERANT_SSH, which may include options, replaces `ssh`. `may_ask` lets ssh ask for a password;
    it must not under a full screen, or with several hosts at once.
    """
    ssh = shlex.split(os.environ.get("OPERANT_SSH", "ssh"))
    asking = [] if may_ask else ["-o", "BatchMode=yes"]
    return [*ssh, "-T", *_PATIENCE, *asking, *(["-p", port] if port else []), host, command]


def remote_operant() -> str:
    """$OPERANT_REMOTE, the command for operant on the other machine; empty if not set."""
    return os.environ.get(REMOTE, "")
