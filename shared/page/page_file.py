"""Where pages lie and how one comes to be: on memory, whole at once, or not at all."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..errors import NoRoomError, PageError, RunFolderError
from ..processes.lock import ByteLock, is_held
from ..runs.owners import ALL_OF_OTHERS, check_file, make_private_folder, this_user
from ..runs.small_file import create_anew, open_regular, replacing
from .folder_place import FolderPlace
from .header import Header
from .layout import HEADER_BYTES

SHM = Path("/dev/shm")
_COPY_CHUNK_BYTES = 1 << 16


class PageFile(NamedTuple):
    """An open page: its descriptor, its mapping, its path (None: only /proc leads to it), and the
    lock that says that its writer lives.
    """

    fd: int
    mapping: mmap.mmap
    path: Path | None
    lock: ByteLock | None = None


def page_folder() -> Path:
    """The folder of this user's pages: $OPERANT_PAGES, else on /dev/shm, else temporary; absolute,
    as a loop may change its working directory.
    """
    chosen = os.environ.get("OPERANT_PAGES")
    if chosen:
        return Path(chosen).absolute()
    root = SHM if os.access(SHM, os.W_OK) else Path(tempfile.gettempdir())
    return root / f"operant-{os.getuid()}"


def make_page_folder(folder: Path) -> None:
    """Make `folder` for this user alone. Raises PageError where it is someone else's."""
    try:
        make_private_folder(folder, ALL_OF_OTHERS)
    except OSError as error:
        raise PageError(f"cannot use {folder}: {error.strerror}") from None


def create_page_file(path: Path, size_bytes: int) -> PageFile:
    """Make an empty page beside its final name; `publish_page_file` gives it that name.

    All of it is reserved here: a sparse file that meets a full tmpfs would kill the writer with
    SIGBUS at some later store. Raises NoRoomError or PageError.
    """
    building = building_name(path)
    make_page_folder(path.parent)
    with contextlib.suppress(OSError):
        building.unlink()
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(building, flags, 0o600)
    except OSError as error:
        raise _page_error(error, path.parent, size_bytes) from None
    lock = None
    try:
        lock = _writers_lock(building)
        return PageFile(fd, _reserve(fd, size_bytes), building, lock)
    except BaseException as error:
        if lock:
            lock.release()
        os.close(fd)
        building.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _page_error(error, path.parent, size_bytes) from None
        raise


def _writers_lock(path: Path) -> ByteLock | None:
    """Held as long as the page's writer lives: whose lock is free was left behind. None on a file
    system without locks, whose pages nobody ever takes for left behind.
    """
    try:
        return ByteLock(path, 0)
    except RunFolderError:
        return None


def is_left_behind(path: Path) -> bool:
    """Whether the writer of the page at `path` is gone; only its lock is asked for."""
    try:
        fd = open_regular(path, path.parent)
    except OSError:
        return False
    try:
        return not is_held(fd)
    finally:
        os.close(fd)


def place_of_page(path: Path) -> FolderPlace | None:
    """The folder of the run whose page is at `path`; None where the page is not this user's, cannot
    be read or does not say.
    """
    try:
        fd = open_regular(path, path.parent)
    except OSError:
        return None
    try:
        check_file(fd, this_user())
        return Header.decode(os.pread(fd, HEADER_BYTES, 0), os.fstat(fd).st_size).place
    except (OSError, PageError):
        return None
    finally:
        os.close(fd)


def create_unnamed_page_file(size_bytes: int) -> PageFile:
    """A page without a name, for where tmpfs has no room: readers of the same user find it under
    /proc/<pid>/fd. Where the system has no such files, or none so large (RLIMIT_FSIZE), nobody
    reads it before its copy on disk.
    """
    try:
        fd = os.memfd_create("operant-page", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        return PageFile(-1, mmap.mmap(-1, size_bytes), None)
    try:
        return PageFile(fd, _reserve(fd, size_bytes), None)
    except BaseException as error:
        os.close(fd)
        if isinstance(error, OSError):
            return PageFile(-1, mmap.mmap(-1, size_bytes), None)
        raise


def publish_page_file(page: PageFile, path: Path) -> PageFile:
    """Give a finished page its name; from here on readers find it."""
    assert page.path is not None
    page.path.rename(path)
    return page._replace(path=path)


def remove_page_file(page: PageFile) -> None:
    """Leave nothing of a page that was never published."""
    if page.path:
        page.path.unlink(missing_ok=True)
    if page.lock:
        page.lock.release()
    os.close(page.fd)


class _UnwantedError(Exception):
    """A copy that was written is not wanted any more."""


def save_page_copy(
    read: Callable[[int, int], bytes | memoryview],
    size_bytes: int,
    path: Path,
    is_wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Write a page to `path` on disk, in one step, zeros left out as holes.

    `read` gives (size, offset) of it. When `is_wanted` says no once all is written, `path` stays
    as it was. Raises OSError when the disk does not take it.
    """
    zeros = bytes(_COPY_CHUNK_BYTES)
    # The process may be writing its last copy while the recorder does.
    with contextlib.suppress(_UnwantedError), replacing(path, by_several=True) as building:
        with os.fdopen(create_anew(building), "wb") as file:
            for start in range(0, size_bytes, len(zeros)):
                chunk = read(min(len(zeros), size_bytes - start), start)
                if chunk != zeros[: len(chunk)]:
                    file.seek(start)
                    file.write(chunk)
            file.truncate(size_bytes)
            file.flush()
            os.fsync(file.fileno())
        if not is_wanted():
            raise _UnwantedError


def building_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.building")


def _reserve(fd: int, size_bytes: int) -> mmap.mmap:
    if sys.platform == "linux":
        os.posix_fallocate(fd, 0, size_bytes)
    else:
        for _ in range(0, size_bytes, 1 << 20):
            os.write(fd, bytes(1 << 20))
        os.ftruncate(fd, size_bytes)
    mapping = mmap.mmap(fd, size_bytes)
    for offset in range(0, size_bytes, mmap.PAGESIZE):
        mapping[offset] = 0  # the first store into a page costs a fault: pay it now
    return mapping


def _page_error(error: OSError, folder: Path, size_bytes: int) -> PageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM):
        room = os.statvfs(folder)
        free = mebibytes(room.f_bavail * room.f_frsize)
        return NoRoomError(f"a page needs {mebibytes(size_bytes)} in {folder}, {free} are free")
    return PageError(f"cannot make a page in {folder}: {error.strerror}")


def mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"
