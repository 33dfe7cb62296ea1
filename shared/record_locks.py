"""Locks of single bytes of a file, as the kernel keeps them.

Linux has them belong to an open file ("open file description locks"): whatever else the process
opens, copies and closes leaves them alone, and they end when the last descriptor of that open file
does. Elsewhere, and where the kernel does not know them, they are POSIX record locks, which a
process loses when it closes *any* descriptor of the file. Both kinds see each other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from typing import NamedTuple

if sys.platform == "darwin":
    _FLOCK = struct.Struct("@qqihh")  # start, length, pid, type, whence
else:
    _FLOCK = struct.Struct("@hhqqi4x")  # type, whence, start, length, pid
_POSIX_GETLK, _POSIX_SETLK = fcntl.F_GETLK, fcntl.F_SETLK
_OFD_GETLK, _OFD_SETLK = 36, 37


class FoundLock(NamedTuple):
    """A lock that somebody else holds. `pid` is its process; 0 where that is elsewhere, and where
    the lock belongs to an open file.
    """

    byte: int
    pid: int


def take_lock(fd: int, byte: int) -> None:
    """Raises OSError: EAGAIN or EACCES when another holds it, others where there are no locks."""
    _ask(fd, _OFD_SETLK, fcntl.F_WRLCK, byte, 1)


def free_lock(fd: int, byte: int) -> None:
    _ask(fd, _OFD_SETLK, fcntl.F_UNLCK, byte, 1)


def found_lock(fd: int, first: int, num_bytes: int) -> FoundLock | None:
    """The lowest lock that others than `fd` hold on the bytes; None: there is none.

    Raises OSError where there are no locks.
    """
    flock = _ask(fd, _OFD_GETLK, fcntl.F_WRLCK, first, num_bytes)
    if sys.platform == "darwin":
        start, _, pid, kind, _ = _FLOCK.unpack(flock)
    else:
        kind, _, start, _, pid = _FLOCK.unpack(flock)
    return None if kind == fcntl.F_UNLCK else FoundLock(max(start, first), max(pid, 0))


def _ask(fd: int, command: int, kind: int, first: int, num_bytes: int) -> bytes:
    if _Kernel.has_locks_of_open_files:
        try:
            return fcntl.fcntl(fd, command, _flock(kind, first, num_bytes))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            _Kernel.has_locks_of_open_files = False
    command = {_OFD_GETLK: _POSIX_GETLK, _OFD_SETLK: _POSIX_SETLK}[command]
    return fcntl.fcntl(fd, command, _flock(kind, first, num_bytes))


class _Kernel:
    has_locks_of_open_files = sys.platform == "linux"


def _flock(kind: int, first: int, num_bytes: int) -> bytes:
    if sys.platform == "darwin":
        return _FLOCK.pack(first, num_bytes, 0, kind, os.SEEK_SET)
    return _FLOCK.pack(kind, os.SEEK_SET, first, num_bytes, 0)
