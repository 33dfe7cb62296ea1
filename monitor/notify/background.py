"""Tells in a process of its own, for whoever cannot wait for it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from ...shared.processes.python_program import python_program
from ...shared.runs.run_folder import Run
from .message import Message
from .settings import OwnSettings, is_switched_off

MOST = 20  # how a run ended comes last


def tell_in_background(run: Run, messages: Sequence[Message]) -> None:
    """Start that process, where anybody wants to hear of `messages`."""
    if not messages or is_switched_off():
        return
    receivers = OwnSettings()().receivers
    wanted = [message for message in messages if any(one.wants(message) for one in receivers)]
    python = python_program()
    if not wanted or python is None:
        return
    # The shell ends at once: the process is nobody's child to wait for.
    program = ["/bin/sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "sh"]
    program += [python, "-P", "-m", "operant.monitor.notify", os.path.abspath(run.folder)]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            program,
            input=json.dumps([asdict(message) for message in wanted[-MOST:]]).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=10.0,
            check=False,
        )
