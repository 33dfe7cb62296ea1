"""Deletes runs that have ended: their folders, and their pages in memory.

A folder is deleted only if it is this user's, lies in a trusted folder of runs and has a run.toml
that names its own id. No link is followed: a run's folder may have been copied from anywhere, and
hold anything.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from ..errors import RunFolderError, UsageError
from ..page.page_file import building_name, is_left_behind, place_of_page
from ..page.page_place import page_path, page_place
from ..processes.lock import LAUNCHER, RECORDER, RunLock, lock_holder
from .owners import is_own, is_own_folder, opened_folder, this_user
from .run_folder import Run, memory_runs_folder, opened_home, runs_folder
from .run_notes import MANIFEST_FILE
from .status import holder_of

# The files that a run needs to be listed, evaluated, exported and resumed.
KEPT_WITH_CHECKPOINTS = (
    "run.toml", "notes.toml", "lock", "checkpoints", "page", "place.json", "events.log",
)  # fmt: skip
_BEING_REMOVED = ".removing"
MOUNTS = Path("/proc/self/mountinfo")


def check_can_be_removed(run: Run) -> None:
    """Raises UsageError if `run` must not be deleted."""
    homes = {os.path.abspath(home) for home in (runs_folder(), memory_runs_folder())}
    if os.path.abspath(run.folder.parent) not in homes or run.folder.name == "..":
        raise UsageError(f"{run.folder} is not among the runs of {runs_folder()}")
    if holder_of(run):
        raise UsageError(f"{run.id} is running: stop it first with `operant stop {run.id}`")
    if lock_holder(run.lock_path, RECORDER):
        raise UsageError(f"{run.id} is still being recorded; remove it later")
    try:
        with (
            opened_home(run.folder.parent, this_user()) as home,
            opened_folder(run.folder, this_user(), at=home),
        ):
            pass
    except OSError as error:
        raise UsageError(f"{run.id} stays: {error.filename} {error.strerror}") from None
    if not run.has_its_id():
        raise UsageError(
            f"{run.id} stays: {run.manifest_path} does not name it. If it is a run that nobody "
            f"needs, delete the folder yourself"
        )
    if mount := _mounted_in(run.folder):
        raise UsageError(f"{run.id} stays: another file system is mounted at {mount}")


def size_bytes(run: Run, keep_checkpoints: bool = False) -> int:
    """The bytes on disk that are freed when `run` is removed."""
    kept = {run.folder / name for name in _kept_names(run)} if keep_checkpoints else set()
    return sum(
        512 * status.st_blocks
        for path, status in _tree(run.folder)
        if not kept & {path, *path.parents}
    )


def remove_run(run: Run, keep_checkpoints: bool = False) -> None:
    """Delete `run`; with `keep_checkpoints`, all files but those needed to continue from them.

    Locks the run, so that it cannot be resumed or recorded meanwhile. Raises UsageError as
    `check_can_be_removed`, RunFolderError if it could not be deleted completely.
    """
    check_can_be_removed(run)
    with contextlib.ExitStack() as locks:
        for byte in (LAUNCHER, RECORDER):
            locks.enter_context(_held(run, byte))
        try:
            if keep_checkpoints:
                with opened_folder(run.folder, this_user()) as folder:
                    _empty(folder, _kept_names(run))
            else:
                _remove_pages(run)
                _remove_folder(run.folder)
        except OSError as error:
            where = error.filename or run.folder
            raise RunFolderError(
                f"not all of {run.id} could be removed: {where}: {error.strerror}"
            ) from None


def remove_leftovers() -> None:
    """Delete the hidden folders of interrupted removals. Raises nothing."""
    for parent in (runs_folder(), memory_runs_folder()):
        with contextlib.suppress(OSError), opened_home(parent, this_user()) as home:
            for name in os.listdir(home):
                if left := re.fullmatch(rf"\.(.+)\.[0-9a-f]{{8}}{_BEING_REMOVED}", name):
                    with contextlib.suppress(OSError):
                        _remove_leftover(parent / name, left[1], home)


def _remove_leftover(folder: Path, run_id: str, home: int) -> None:
    """Delete a hidden folder if it is the run's or empty: run.toml is deleted last."""
    is_empty = not os.listdir(folder)
    if (Run(folder).manifest().get("id") == run_id or is_empty) and not _mounted_in(folder):
        _remove_tree(folder, home)


@contextlib.contextmanager
def _held(run: Run, byte: int) -> Iterator[None]:
    """Hold the lock of a byte, if the run has a lock file that can be locked."""
    lock = None
    if run.lock_path.is_file() and not run.lock_path.is_symlink():
        try:
            lock = RunLock(run.lock_path, byte)
        except RunFolderError:
            if lock_holder(run.lock_path, byte):  # a process has just taken it
                raise
    try:
        yield
    finally:
        if lock:
            lock.release()


def _remove_folder(folder: Path) -> None:
    """Rename the folder first, in one step, so that no list ever shows half a run."""
    with opened_home(folder.parent, this_user()) as home:
        name = f".{folder.name}.{secrets.token_hex(4)}{_BEING_REMOVED}"
        os.rename(folder.name, name, src_dir_fd=home, dst_dir_fd=home)
        _remove_tree(folder.with_name(name), home)


def _remove_tree(folder: Path, home: int) -> None:
    """Delete `folder`, which is in the open folder `home`. Its run.toml is deleted last, so that an
    interrupted removal can be continued.
    """
    with opened_folder(folder, this_user(), at=home) as fd:
        _empty(fd, {MANIFEST_FILE})
        _empty(fd, set())
    os.rmdir(folder.name, dir_fd=home)


def _empty(folder: int, kept: Collection[str]) -> None:
    """Delete what is in an open folder, except `kept`."""
    for name in sorted(set(os.listdir(folder)) - set(kept)):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _kept_names(run: Run) -> list[str]:
    return [name for name in os.listdir(run.folder) if name in KEPT_WITH_CHECKPOINTS]


def _remove_pages(run: Run) -> None:
    """Delete the pages in memory whose writers have ended, also incomplete ones."""
    announced = page_place(run).get("page")
    for path in {page_path(run), *([Path(announced)] if announced else [])}:
        for page in (path, building_name(path)):
            if _is_page_of(run, page):
                page.unlink()


def _is_page_of(run: Run, page: Path) -> bool:
    """Whether a page belongs to this run and has no writer. It may also be another user's, or that
    of a run whose folder was copied here.
    """
    if not is_own(page) or not is_own_folder(page.parent):
        return False
    place = place_of_page(page)  # None for another layout, or damaged: the name decides
    is_ours = place is None or place.path == Path(os.path.abspath(run.folder))
    return is_ours and is_left_behind(page)


def _tree(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """`folder` and all files in it, without following links; unreadable ones are left out."""
    with contextlib.suppress(OSError):
        yield folder, folder.lstat()
    for parent, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                path = Path(parent, name)
                yield path, path.lstat()


def _mounted_in(folder: Path) -> str:
    """A mount point in `folder`; empty if there is none.

    A bind mount of the same file system has the same device number: only the kernel's list of
    mounts shows it. Systems without that list have no bind mounts.
    """
    device = folder.lstat().st_dev
    if mount := next((path for path, inner in _tree(folder) if inner.st_dev != device), None):
        return str(mount)
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return ""
    inside = os.fsencode(os.path.realpath(folder)) + b"/"
    escaped = (line.split(b" ")[4] for line in lines)
    places = (
        re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), path) for path in escaped
    )
    return os.fsdecode(next((place for place in places if place.startswith(inside)), b""))
