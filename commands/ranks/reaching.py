"""How `operant rank` is started on a machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

from ...shared.errors import UsageError
from ...shared.python_program import python_program
from ...shared.ssh import remote_operant, ssh_command
from .nodes import Node

# PATH as people have it in a terminal, whatever shell they have: ssh's has often less.
BY_LOGIN_SHELL = """sh -c 'exec "${SHELL:-/bin/sh}" -l -c "exec operant rank"'"""


def rank_command(node: Node) -> list[str]:
    """The program that is `operant rank` on `node`. Raises UsageError where this process is no
    Python that could start one.
    """
    if node.is_here:
        python = python_program()
        if python is None:
            raise UsageError(
                f"{sys.executable} is not a Python interpreter: it cannot start other ranks"
            )
        return [python, "-P", "-m", "operant", "rank"]
    chosen = node.command or remote_operant()
    command = f"{chosen} rank" if chosen else BY_LOGIN_SHELL
    return ssh_command(node.host, command, may_ask=False, port=node.port)


def kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has a session of its own, whatever programs it has started there."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
