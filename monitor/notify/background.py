"""Sends messages in a process of its own, for commands that cannot wait for it. The process is this
module: `python -m operant.monitor.notify.background RUN_FOLDER`, with messages on standard input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ...shared.processes.python_program import python_program
from ...shared.runs.run_folder import Run
from ..recorder.events_file import EventsFile
from ..recorder.news import problem_line
from .message import Message
from .settings import OwnSettings, is_switched_off
from .teller import Teller

MOST = 20  # how a run ended comes last
PATIENCE_S = 60.0


def tell_in_background(run: Run, messages: Sequence[Message]) -> None:
    """Start that process, where anybody wants to hear of `messages`."""
    if not messages or is_switched_off():
        return
    settings = OwnSettings()()
    wanted = [message for message in messages if settings.wants(message)]
    python = python_program()
    if not wanted or python is None:
        return
    # The shell ends at once: the process is nobody's child to wait for.
    program = ["/bin/sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "sh"]
    program += [python, "-P", "-m", __name__, os.path.abspath(run.folder)]
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


def main() -> None:
    run = Run(Path(sys.argv[1]))
    teller = Teller(run, OwnSettings())
    for fields in json.load(sys.stdin):
        teller.tell(Message(**fields))
    teller.close(PATIENCE_S)
    EventsFile(run.events_path).append(map(problem_line, teller.take_notes()))


if __name__ == "__main__":
    main()
