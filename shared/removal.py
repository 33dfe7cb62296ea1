"""Deleting runs that have ended: their folders, and what is left of them in memory.

No link is followed, and nothing outside the folders of runs is touched: a run's folder may have
been copied from anywhere, and hold anything.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from .errors import PageError, RunFolderError, UsageError
from .header import Header
from .layout import HEADER_BYTES
from .lock import LAUNCHER, RECORDER, RunLock, lock_holder
from .page_file import building_name, is_left_behind
from .rank_place import page_path, rank_place
from .run_folder import Run, memory_runs_folder, runs_folder
from .small_file import open_regular
from .status import holder_of

# What a run needs to be listed, evaluated, exported and resumed.
KEPT_WITH_CHECKPOINTS = ("run.toml", "notes.toml", "lock", "checkpoints", "ranks", "events.log")
_KEPT_BEGINNING = "page"  # its last numbers, and curves
_BEING_REMOVED = ".removing"


def check_can_be_removed(run: Run) -> None:
    """Raises UsageError, one line, where `run` must stay."""
    homes = {os.path.abspath(home) for home in (runs_folder(), memory_runs_folder())}
    if os.path.abspath(run.folder.parent) not in homes:
        raise UsageError(f"{run.folder} is not among the runs of {runs_folder()}")
    if holder_of(run):
        raise UsageError(f"{run.id} is running, and stays; `operant stop {run.id}` ends it")
    if lock_holder(run.lock_path, RECORDER, 1):
        raise UsageError(f"{run.id} is being recorded, and stays until that is done")
    try:
        status = run.folder.lstat()
    except OSError as error:
        raise UsageError(f"{run.folder}: {error.strerror}") from None
    if stat.S_ISLNK(status.st_mode):
        there = os.path.realpath(run.folder)
        raise UsageError(f"{run.id} is a link to {there}, which is not followed: remove it there")
    mount = next((path for path, inner in _tree(run.folder) if inner.st_dev != status.st_dev), None)
    if mount:
        raise UsageError(f"{run.id} stays: another file system is mounted at {mount}")


def size_bytes(run: Run, keep_checkpoints: bool = False) -> int:
    """What the disk has back once `run` is removed."""
    kept = {run.folder / name for name in _kept(run)} if keep_checkpoints else set()
    return sum(
        512 * status.st_blocks
        for path, status in _tree(run.folder)
        if not kept & {path, *path.parents}
    )


def remove_run(run: Run, keep_checkpoints: bool = False) -> None:
    """Delete what there is of `run`; with `keep_checkpoints` all but what going on from them needs.

    Nobody can begin to resume or record it meanwhile. Raises UsageError as `check_can_be_removed`,
    RunFolderError where not all of it could be removed.
    """
    check_can_be_removed(run)
    with contextlib.ExitStack() as locks:
        for byte in (LAUNCHER, RECORDER):
            locks.enter_context(_held(run, byte))
        try:
            if keep_checkpoints:
                _thin_out(run)
            else:
                _remove_pages(run)
                _remove_folder(run.folder)
        except OSError as error:
            where = error.filename or run.folder
            raise RunFolderError(
                f"not all of {run.id} could be removed: {where}: {error.strerror}"
            ) from None


def remove_leftovers() -> None:
    """What an interrupted removal left, where no list shows it. Raises nothing."""
    for home in (runs_folder(), memory_runs_folder()):
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(home)):
                is_left = entry.name.startswith(".") and entry.name.endswith(_BEING_REMOVED)
                if is_left and entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)


@contextlib.contextmanager
def _held(run: Run, byte: int) -> Iterator[None]:
    """The lock of a byte, where the run has one that can be taken."""
    lock = None
    if stat.S_ISREG(_mode(run.lock_path)):
        try:
            lock = RunLock(run.lock_path, byte)
        except RunFolderError:
            if lock_holder(run.lock_path, byte, 1):  # since it was asked a moment ago
                raise
    try:
        yield
    finally:
        if lock:
            lock.release()


def _remove_folder(folder: Path) -> None:
    """Under another name first, in one step: no list ever shows half a run."""
    home = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = f".{folder.name}.{secrets.token_hex(4)}{_BEING_REMOVED}"
        os.rename(folder.name, name, src_dir_fd=home, dst_dir_fd=home)
        shutil.rmtree(name, dir_fd=home)  # which refuses a link that has come to stand there
    finally:
        os.close(home)


def _thin_out(run: Run) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(run.folder, flags)
    try:
        kept = set(_kept(run))
        for name in sorted(set(os.listdir(folder)) - kept):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _kept(run: Run) -> list[str]:
    return [
        name
        for name in os.listdir(run.folder)
        if name in KEPT_WITH_CHECKPOINTS or name.split(".")[0] == _KEPT_BEGINNING
    ]


def _remove_pages(run: Run) -> None:
    """Those in memory whose writers are gone, and what was left of making one."""
    for rank in run.ranks():
        announced = rank_place(run, rank).get("page")
        for path in {page_path(run, rank), *([Path(announced)] if announced else [])}:
            for page in (path, building_name(path)):
                if _is_page_of(run, page):
                    page.unlink()


def _is_page_of(run: Run, page: Path) -> bool:
    """Whether nobody writes it, and it is this run's: not that of one whose folder was copied here,
    nor another user's.
    """
    try:
        status = page.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            return False
        fd = open_regular(page)
    except OSError:
        return False
    try:
        place = Header.decode(os.pread(fd, HEADER_BYTES, 0), status.st_size).place
    except (OSError, PageError):
        place = None  # of an older operant, or damaged: its name says whose it is
    finally:
        os.close(fd)
    is_ours = place is None or place.path == Path(os.path.abspath(run.folder))
    return is_ours and is_left_behind(page)


def _tree(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All within `folder` and itself, as links where they are; what cannot be looked at is left
    out.
    """
    with contextlib.suppress(OSError):
        yield folder, folder.lstat()
    for parent, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                path = Path(parent, name)
                yield path, path.lstat()


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0
