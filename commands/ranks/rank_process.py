"""How `operant rank` is started, and the lines of JSON that it exchanges with its starter."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from ...shared.errors import OperantError, UsageError
from ...shared.processes.python_program import python_program
from ...shared.processes.ssh import remote_operant, ssh_command
from .nodes import Node

MAX_BYTES = 1 << 20
# Marks the answer among what login shells print before it.
MARK = b"operant-rank "
# A login shell has the user's PATH; that of an ssh command is often shorter.
BY_LOGIN_SHELL = """sh -c 'exec "${SHELL:-/bin/sh}" -l -c "exec operant rank"'"""


def rank_command(node: Node) -> list[str]:
    """The command that runs `operant rank` on `node`. Raises UsageError if this process is not a
    Python interpreter that could start another.
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
    """Kill a process that leads a session, and all processes of that session."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def task(do: str, **options: Any) -> bytes:
    """A line for `operant rank`: `do` is `ask` or `train`."""
    return json.dumps({"do": do, **working_folder(), **options}).encode() + b"\n"


def read_task(file: int) -> dict[str, Any]:
    """The task in the first line of `file`. Raises OperantError if there is none."""
    data = b""
    while not data.endswith(b"\n") and len(data) < MAX_BYTES and (more := os.read(file, 65536)):
        data += more
    try:
        task = json.loads(data)
    except ValueError:
        task = None
    if not isinstance(task, dict):
        raise OperantError("`operant rank` is started by `operant train --processes` or `--nodes`")
    return task


def answer_line(answer: dict[str, Any]) -> bytes:
    return MARK + json.dumps(answer).encode() + b"\n"


def answer_in(line: bytes) -> dict[str, Any] | None:
    """The answer in a line of another machine's output; None if it is another line."""
    if not line.startswith(MARK):
        return None
    try:
        answer = json.loads(line.removeprefix(MARK))
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def working_folder() -> dict[str, Any]:
    """The working folder of this process, and its path below the home folder if it is there."""
    folder = Path.cwd()
    below = folder.relative_to(Path.home()) if folder.is_relative_to(Path.home()) else None
    return {"folder": str(folder), "below_home": None if below is None else str(below)}


def go_to_folder(task: dict[str, Any]) -> None:
    """Change to the task's folder: first below this machine's home folder, then the same path. Stay
    if neither exists.
    """
    below = task.get("below_home")
    for folder in ([Path.home() / below] if below else []) + [Path(task["folder"])]:
        try:
            os.chdir(folder)
            return
        except OSError:
            continue
