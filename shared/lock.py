"""Who is alive: a kernel lock that a process holds for life and loses with it, however it dies.

Each rank of a run locks its own byte of the run's lock file. Record locks (not `flock`) are not
inherited by forked workers and name no pid that could be reused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from .errors import RunFolderError
from .small_file import open_regular

LAUNCHER = 1 << 20  # the byte of the process that starts a trainer, until the trainer holds its own
NUM_BYTES = LAUNCHER + 1  # bytes that mean the run is alive
RECORDER = NUM_BYTES  # beyond them: a recorder that lives does not make a dead trainer look alive

if sys.platform == "darwin":
    _FLOCK = struct.Struct("@qqihh")  # start, length, pid, type, whence
else:
    _FLOCK = struct.Struct("@hhqqi4x")  # type, whence, start, length, pid

# A link may lead to any file of the user's, and opening a FIFO waits.
_OPEN_TO_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

# Closing any descriptor of a locked file drops the locks of the whole process, so this process
# must never open a file again on which it holds one: it uses the descriptor it has.
_held_here: dict[tuple[int, int, int], int] = {}  # (device, inode, byte) to descriptor


class Holder(NamedTuple):
    """A process that holds a lock. `pid` is 0 where it cannot be seen, as from a container."""

    pid: int


class RunLock:
    """The lock of one byte, that of a rank by default, held until `release` or death."""

    def __init__(self, path: Path, rank: int) -> None:
        """Raises RunFolderError when another process holds it or the file cannot be opened."""
        self._fd = _descriptor_held(path)
        if self._fd < 0:
            try:
                self._fd = os.open(path, _OPEN_TO_LOCK, 0o600)
            except OSError as error:
                raise RunFolderError(f"cannot open {path}: {error.strerror}") from None
        self._file, self._byte = _identity(os.fstat(self._fd)), rank
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, rank)
        except OSError as error:
            self._close_if_last()
            in_use = error.errno in (errno.EAGAIN, errno.EACCES)
            reason = "in use by another process" if in_use else f"not lockable: {error.strerror}"
            raise RunFolderError(f"{path.parent} is {reason}") from None
        _held_here[*self._file, rank] = self._fd

    def release(self) -> None:
        _held_here.pop((*self._file, self._byte), None)
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, self._byte)
        self._close_if_last()

    def holder(self, first: int = 0, num_bytes: int = NUM_BYTES) -> Holder | None:
        """As `lock_holder`, also once the file is deleted."""
        return _holder(self._fd, self._file, first, num_bytes)

    def _close_if_last(self) -> None:
        if self._fd not in _held_here.values():
            os.close(self._fd)


def lock_holder(path: Path, first: int = 0, num_bytes: int = NUM_BYTES) -> Holder | None:
    """The process that holds a lock in the bytes of `path` from `first` on; None when none does.

    The recorder's byte is not among them unless it is asked for.
    """
    held = _descriptor_held(path)
    if held >= 0:
        return _holder(held, _identity(os.fstat(held)), first, num_bytes)
    try:
        fd = open_regular(path)
    except OSError:
        return None
    try:
        return _holder(fd, _identity(os.fstat(fd)), first, num_bytes)
    finally:
        os.close(fd)


def _holder(fd: int, file: tuple[int, int], first: int, num_bytes: int) -> Holder | None:
    """Who holds any of the bytes. The kernel never answers with the process that asks."""
    asked = range(first, first + num_bytes)
    if any(held[:2] == file and held[2] in asked for held in _held_here):
        return Holder(os.getpid())
    try:
        kind, pid = _answer(fcntl.fcntl(fd, fcntl.F_GETLK, _question(first, num_bytes)))
    except OSError:  # a file system without locks
        return None
    return None if kind == fcntl.F_UNLCK else Holder(max(pid, 0))


def _descriptor_held(path: Path) -> int:
    """The descriptor by which this process holds a lock on `path`; -1 when it holds none."""
    try:
        file = _identity(path.stat())
    except OSError:
        return -1
    return next((fd for held, fd in _held_here.items() if held[:2] == file), -1)


def _question(first: int, num_bytes: int) -> bytes:
    if sys.platform == "darwin":
        return _FLOCK.pack(first, num_bytes, 0, fcntl.F_WRLCK, os.SEEK_SET)
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, first, num_bytes, 0)


def _answer(flock: bytes) -> tuple[int, int]:
    if sys.platform == "darwin":
        _, _, pid, kind, _ = _FLOCK.unpack(flock)
    else:
        kind, _, _, _, pid = _FLOCK.unpack(flock)
    return kind, pid


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


os.register_at_fork(after_in_child=_held_here.clear)
