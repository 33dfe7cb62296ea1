"""Finds runs that were killed together with their recorder: their pages are still in memory, and
their folders are incomplete.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..page.page_file import is_left_behind, page_folder, place_of_page
from ..processes.lock import RECORDER, lock_holder
from .find_runs import names_of_pages, own_runs
from .owners import is_own_folder
from .run_folder import Run, runs_folder
from .status import holder_of

# A page that is being created has no lock at first.
MADE_WITHIN_S = 60.0


def runs_left_behind() -> list[Run]:
    """Runs whose processes and recorder have ended, and whose folders are incomplete.

    Deletes pages of this user without a run: the run's folder was deleted, or the page was never
    completed.
    """
    runs = {run: None for run in own_runs() if run.recording_path.exists()}
    for path in _pages_left_behind():
        if run := _run_of(path):
            runs[run] = None
    # Other folders may not be runs, or of another version: they stay unchanged.
    readable = [run for run in runs if run.has_its_id() and not run.made_by()]
    return [run for run in readable if not (lock_holder(run.lock_path, RECORDER) or holder_of(run))]


def _pages_left_behind() -> Iterator[Path]:
    """Complete pages of this user whose writers have ended."""
    for name in names_of_pages():
        with suppress(OSError):
            path = page_folder() / name
            status = path.lstat()
            if status.st_uid != os.getuid() or not is_left_behind(path):
                continue
            if name.endswith(".page"):
                yield path
            is_half = name.endswith(".page.building")
            if is_half and time.time() - status.st_mtime > MADE_WITHIN_S:
                path.unlink()


def _run_of(page: Path) -> Run | None:
    """The run of a page. None if the run was deleted, in which case the page is deleted too, or if
    that is unknown, for example because its folder is on a disk that is not mounted.
    """
    run = Run(runs_folder() / page.name.removesuffix(".page"))
    if is_own_folder(run.folder):
        return run
    place = place_of_page(page)
    if place is None or place.path.name != run.id or not place.is_same_home():
        return None
    if os.path.lexists(place.path):
        return Run(place.path) if is_own_folder(place.path) else None
    if is_left_behind(page):
        page.unlink()
    return None
