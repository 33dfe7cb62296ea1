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

LAUNCHER = 1 << 20  # the byte of the process that starts a trainer, until the trainer holds its own
NUM_BYTES = LAUNCHER + 1

if sys.platform == "darwin":
    _FLOCK = struct.Struct("@qqihh")  # start, length, pid, type, whence
else:
    _FLOCK = struct.Struct("@hhqqi4x")  # type, whence, start, length, pid

# Closing any descriptor of a locked file drops the locks of the whole process, so this process
# must never open a file again on which it holds one. (device, inode, byte)
_held_here: set[tuple[int, int, int]] = set()


class Holder(NamedTuple):
    """A process that holds a lock. `pid` is 0 where it cannot be seen, as from a container."""

    pid: int


class RunLock:
    """The lock of one rank, held until `release` or death."""

    def __init__(self, path: Path, rank: int) -> None:
        """Raises RunFolderError when another process holds it or the file cannot be opened."""
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RunFolderError(f"cannot open {path}: {error.strerror}") from None
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, rank)
        except OSError as error:
            os.close(self._fd)
            in_use = error.errno in (errno.EAGAIN, errno.EACCES)
            reason = "in use by another process" if in_use else f"not lockable: {error.strerror}"
            raise RunFolderError(f"{path.parent} is {reason}") from None
        self._key = _key(path, rank)
        _held_here.add(self._key)

    def release(self) -> None:
        _held_here.discard(self._key)
        os.close(self._fd)


def lock_holder(path: Path, first: int = 0, num_bytes: int = NUM_BYTES) -> Holder | None:
    """The process that holds a lock in the bytes of `path` from `first` on; None when none does."""
    try:
        asked = range(first, first + num_bytes)
        if any(_key(path, held[2]) == held and held[2] in asked for held in _held_here):
            return Holder(os.getpid())
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, _question(first, num_bytes))
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(fd)
    kind, pid = _answer(answer)
    return None if kind == fcntl.F_UNLCK else Holder(max(pid, 0))


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


def _key(path: Path, byte: int) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino, byte


os.register_at_fork(after_in_child=_held_here.clear)
