"""Reading back what the recorder writes, and waiting for recorders."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from waiting import wait_for

from operant.shared.errors import RowFileError
from operant.shared.processes.lock import RECORDER, lock_holder
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.runs.run_folder import Run


@contextmanager
def places_of_its_own() -> Iterator[None]:
    """For a program that runs without pytest: an empty home, empty pages, and recorders."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as pages,
    ):
        os.environ |= {"OPERANT_HOME": home, "OPERANT_PAGES": pages, "OPERANT_RECORDER": "on"}
        yield


def publishes(run: Run) -> list[int]:
    """The publish numbers in the run's file of rows; none while there is no file."""
    try:
        file = RowFileReader(run.rows_path)
    except RowFileError:
        return []
    try:
        return [number for batch in file.batches() for number in batch.publish.tolist()]
    finally:
        file.close()


def event_texts(run: Run) -> list[str]:
    """The texts in a run's events.log; none while there is no file."""
    if not run.events_path.exists():
        return []
    return [line.split(maxsplit=2)[2] for line in run.events_path.read_text().splitlines()]


def recorder_pid(run: Run) -> int | None:
    """The process that records `run`; None while none does."""
    holder = lock_holder(run.lock_path, RECORDER)
    return holder.pid if holder else None


def kill_recorder(run: Run) -> None:
    """Kill the process that records `run`, once there is one, and wait until it is gone."""
    os.kill(wait_for(lambda: recorder_pid(run)), signal.SIGKILL)
    wait_for(lambda: recorder_pid(run) is None)


def delete_folder(run: Run) -> None:
    """Delete the run's folder, though others write into it meanwhile."""

    def is_gone() -> bool:
        shutil.rmtree(run.folder, ignore_errors=True)
        return not run.folder.exists()

    wait_for(is_gone)
