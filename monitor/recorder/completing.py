"""Completes runs whose recorder was killed with them, as when a container or a machine ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ...shared.errors import OperantError
from ...shared.processes.python_program import python_program
from ...shared.runs.owners import opened_folder, this_user
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ...shared.runs.small_file import BUILDING
from ..notify.message import Message
from ..notify.settings import OwnSettings, is_switched_off
from ..notify.teller import Teller
from .events_file import EventsFile
from .news import problem_line
from .recording import Recorder, recorder_lock

BUDGET_S = 2.0  # of one command; the next one goes on
MOST_MESSAGES = 20  # how a run ended comes last
PATIENCE_S = 60.0  # of the process that sends messages


def complete_runs(runs: Iterable[Run], now: Callable[[], float] = time.monotonic) -> None:
    """Write what is missing of `runs` to their folders and take their pages off memory, as far as
    that goes in `BUDGET_S`. What does not go, as on a full disk, is left for another time.
    """
    deadline = now() + BUDGET_S
    for run in runs:
        if now() > deadline:
            return
        with suppress(OperantError, OSError):  # also where a recorder has begun to do so by now
            complete_run(run)


def complete_run(run: Run) -> bool:
    """Save everything of an ended run to its folder; return whether it is complete. Raises
    UsageError if the run has a recorder.

    Another process sends messages about its end, so that no command waits for a service.
    """
    lock = recorder_lock(run)
    try:
        messages: list[Message] = []
        settings = RecorderSettings.of_run(run)
        recorder = Recorder(run, lock, settings, (), lambda _: None, OwnSettings(), messages.append)
        recorder.note_incompleteness()
        recorder.look()
        recorder.tell_end()
        recorder.note_completeness()
        tell_in_background(run, messages)
        if recorder.is_complete:
            _remove_halves(run)
        return recorder.is_complete
    finally:
        lock.release()


def _remove_halves(run: Run) -> None:
    """Files that were being written when everything ended."""
    with suppress(OSError), opened_folder(run.folder, this_user()) as folder:
        for name in os.listdir(folder):
            if name.startswith(BUILDING):
                os.unlink(name, dir_fd=folder)


def tell_in_background(run: Run, messages: Sequence[Message]) -> None:
    """Send the `messages` that the user wants from another process. It is this module:
    `python -m operant.monitor.recorder.completing RUN_FOLDER`, with messages on standard input.
    """
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
            input=json.dumps([asdict(message) for message in wanted[-MOST_MESSAGES:]]).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=10.0,
            check=False,
        )


def main() -> None:
    """Send the messages on standard input."""
    run = Run(Path(sys.argv[1]))
    teller = Teller(run, OwnSettings())
    for fields in json.load(sys.stdin):
        teller.tell(Message(**fields))
    teller.close(PATIENCE_S)
    EventsFile(run.events_path).append(map(problem_line, teller.take_notes()))


if __name__ == "__main__":
    main()
