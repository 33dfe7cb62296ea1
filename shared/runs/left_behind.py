"""What processes left behind that were killed together with their recorder: pages in memory, and
runs of which not all is in their folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import PageError
from ..page.folder_place import FolderPlace
from ..page.page_file import is_left_behind, page_folder
from ..processes.lock import RECORDER, lock_holder
from .find_runs import names_of_pages, own_runs
from .owners import is_own_folder
from .run_folder import Run, runs_folder
from .status import holder_of

# A page that is being made has no lock for its first moment.
MADE_WITHIN_S = 60.0


def runs_left_behind() -> list[Run]:
    """Runs whose processes and recorder are gone, and of which not all is in their folder yet.

    Pages of this user that belong to no run any more are deleted: those whose run's folder is gone,
    and those that were never whole.
    """
    found = {run: None for run in own_runs() if run.recording_path.exists()}
    for path in _pages_left_behind():
        if run := _run_of(path):
            found[run] = None
    # Anything else may be a folder that is no run, or of another version: it stays as it is.
    readable = [run for run in found if run.names_itself() and not run.made_by()]
    return [run for run in readable if not _is_at_work(run)]


def _is_at_work(run: Run) -> bool:
    """Whether a process or the recorder of `run` lives."""
    is_recorded = lock_holder(run.lock_path, RECORDER) is not None
    return is_recorded or holder_of(run) is not None


def _pages_left_behind() -> Iterator[Path]:
    """Whole pages of this user whose writers are gone."""
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
    """The run of a page; the page of a deleted run is deleted. None if there is no run, or if that
    is unknown, for example because its folder is on a disk that is not mounted now.
    """
    run = Run(runs_folder() / page.name.removesuffix(".page"))
    if is_own_folder(run.folder):
        return run
    place = _place_of(page)
    if place is None or place.path.name != run.id or not place.is_same_home():
        return None
    if os.path.lexists(place.path):
        return Run(place.path) if is_own_folder(place.path) else None
    if is_left_behind(page):
        page.unlink()
    return None


def _place_of(page: Path) -> FolderPlace | None:
    from ..page.reader import MetricsReader  # and numpy, which most commands need not wait for

    try:
        reader = MetricsReader.attach(page)
    except PageError:
        return None
    reader.detach()
    return reader.header.place
