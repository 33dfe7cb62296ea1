"""Completes runs whose recorder was killed with them, as when a container or a machine ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from ...shared.errors import OperantError
from ...shared.runs.owners import open_folder, this_user
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ..notify.background import tell_in_background
from ..notify.message import Message
from ..notify.settings import OwnSettings
from .recording import Recorder, recorder_lock

BUDGET_S = 2.0  # of one command; the next one goes on


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

    A process of its own sends messages about its end, so that no command waits for a service.
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
    with suppress(OSError):
        folder = open_folder(run.folder, this_user())
        try:
            for name in os.listdir(folder):
                if name.startswith(".") and name.endswith((".building", ".recording")):
                    os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)
