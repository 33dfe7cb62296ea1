"""The notes people wrote about a run, reread once they change."""

from __future__ import annotations

import os
from pathlib import Path

from ....shared.runs.run_folder import Run
from ....shared.runs.run_notes import RunNotes, read_notes


class RecordedNotes:
    """The notes of one run. The same object comes as long as nobody wrote."""

    def __init__(self, run: Run) -> None:
        self._folder = run.folder
        self._paths = run.notes_path, run.manifest_path
        self._written: tuple[object, ...] = ()
        self._notes = RunNotes()

    def read(self) -> RunNotes:
        written = tuple(map(_written, self._paths))
        if written != self._written:
            self._written, self._notes = written, read_notes(self._folder)
        return self._notes


def _written(path: Path) -> tuple[int, int] | None:
    """Changes whenever the file is written anew."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
