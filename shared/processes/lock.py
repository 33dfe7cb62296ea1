"""Detects whether a process is alive: by a kernel lock that it holds until it ends.

The trainer, the launcher and the recorder of a run lock a byte each of the run's lock file. A
forked child releases the lock that it inherits, and an executed program does not inherit it.

On Linux these locks belong to an open file ("open file description locks"). Other descriptors that
the process opens, copies and closes do not affect them, and they end with the open file's last
descriptor. On other systems and old kernels they are POSIX record locks, which a process loses when
it closes *any* descriptor of the file. Both types of locks exclude each other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import threading
import weakref
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import RunFolderError
from ..runs.owners import RefusedError, opened_folder, this_user
from ..runs.small_file import open_regular
from .host import boot_id, pid_namespace, process_start

if sys.platform == "darwin":
    _FLOCK = struct.Struct("@qqihh")  # start, length, pid, type, whence
else:
    _FLOCK = struct.Struct("@hhqqi4x")  # type, whence, start, length, pid
_POSIX_GETLK, _POSIX_SETLK = fcntl.F_GETLK, fcntl.F_SETLK
_OFD_GETLK, _OFD_SETLK = 36, 37


class FoundLock(NamedTuple):
    """A lock that another process, `pid`, holds. `pid` is 0 if the process is on another machine or
    in another container, or if the lock belongs to an open file.
    """

    byte: int
    pid: int


def take_lock(fd: int, byte: int) -> None:
    """Take the lock of a byte. Raises OSError: EAGAIN or EACCES if another process holds it, other
    errors if the file system has no locks.
    """
    _ask(fd, _OFD_SETLK, fcntl.F_WRLCK, byte, 1)


def free_lock(fd: int, byte: int) -> None:
    _ask(fd, _OFD_SETLK, fcntl.F_UNLCK, byte, 1)


def found_lock(fd: int, first: int, num_bytes: int) -> FoundLock | None:
    """The lowest lock on the bytes that others than `fd` hold, else None.

    Raises OSError if the file system has no locks.
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


# The bytes of a lock file. The launcher starts the trainer and holds its byte until the trainer
# holds the first. A living recorder does not make a dead trainer look alive.
TRAINER, LAUNCHER, RECORDER = range(3)

# Not through a link, which may lead to any of the user's files; opening a FIFO would wait.
_OPEN_TO_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

# The locks of this process: the kernel does not report locks of the same open file, and closing
# another descriptor of the file would release them if they are POSIX locks.
_held_here: dict[tuple[int, int, int], int] = {}  # (device, inode, byte) to descriptor


# The byte, the pid, its start time, boot, namespace of process ids, descriptor; then CRC-32.
_RECORD = struct.Struct("<IIQ16sQI")
RECORD_BYTES = 64


def write_holder(fd: int, byte: int) -> None:
    """Write into the file that this process holds `byte`; on a full disk, nothing is written."""
    pid = os.getpid()
    record = _RECORD.pack(byte, pid, process_start(pid), boot_id(), pid_namespace(), fd)
    _write(fd, record + zlib.crc32(record).to_bytes(4, "little"), byte)


def clear_holder(fd: int, byte: int) -> None:
    _write(fd, b"", byte)


def read_holder(fd: int, byte: int) -> int:
    """The pid of the process that holds `byte`, according to the file; 0 if it is not visible here.

    Anyone may have written the file: a process counts only if it is alive, in the same boot and
    namespace, has the recorded start time, and has the file open.
    """
    try:
        data = os.pread(fd, RECORD_BYTES, byte * RECORD_BYTES)
    except OSError:
        return 0
    record, crc = data[: _RECORD.size], data[_RECORD.size : _RECORD.size + 4]
    if len(crc) < 4 or zlib.crc32(record) != int.from_bytes(crc, "little"):
        return 0
    held, pid, start, boot, namespace, its_fd = _RECORD.unpack(record)
    is_here = (held, boot, namespace) == (byte, boot_id(), pid_namespace())
    if not is_here or not start or process_start(pid) != start:
        return 0
    try:
        is_open = os.path.samestat(os.stat(f"/proc/{pid}/fd/{its_fd}"), os.fstat(fd))
    except OSError:
        return 0
    return int(pid) if is_open else 0


def _write(fd: int, record: bytes, byte: int) -> None:
    """Write a record and restore the file's time, by which runs are sorted."""
    with suppress(OSError):
        status = os.fstat(fd)
        os.pwrite(fd, record.ljust(RECORD_BYTES, b"\0"), byte * RECORD_BYTES)
        os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))


class Holder(NamedTuple):
    """A process that holds a lock. `pid` is 0 if it is not visible, for example in a container."""

    pid: int


class ByteLock:
    """The lock of one byte of a file, held until `release` or the end of the process."""

    def __init__(self, path: Path, byte: int) -> None:
        """Take the lock. Raises RunFolderError if it is held, or the file cannot be opened."""
        with _no_fork:
            self._fd = _descriptor_held(path)
            if self._fd < 0:
                try:
                    self._fd = os.open(path, _OPEN_TO_LOCK, 0o600)
                except OSError as error:
                    raise RunFolderError(f"cannot open {path}: {error.strerror}") from None
            try:
                self._file, self._byte = _identity(os.fstat(self._fd)), byte
                self._take(path)
            except BaseException:
                self._close_if_last()
                raise
            _held_here[*self._file, byte] = self._fd
            _locks.add(self)

    def _take(self, path: Path) -> None:
        if (*self._file, self._byte) in _held_here:
            raise RunFolderError(f"{path.parent} is in use by this process")
        try:
            take_lock(self._fd, self._byte)
        except OSError as error:
            in_use = error.errno in (errno.EAGAIN, errno.EACCES)
            reason = "in use by another process" if in_use else f"not lockable: {error.strerror}"
            raise RunFolderError(f"{path.parent} is {reason}") from None

    def release(self) -> None:
        """Release the lock. Has no effect in a forked child, or if the descriptor was closed."""
        with _no_fork:
            held = _held_here.pop((*self._file, self._byte), None)
            if held is None or not _is_file(self._fd, self._file):
                return
            self._before_release()
            free_lock(self._fd, self._byte)
            self._close_if_last()

    def _before_release(self) -> None:
        """A hook for subclasses that have written into the file."""

    def holder(self) -> Holder | None:
        """The process whose lock makes the run alive, also after the file was deleted."""
        return _holder(self._fd, self._file)

    def _close_if_last(self) -> None:
        if self._fd not in _held_here.values():
            os.close(self._fd)


class RunLock(ByteLock):
    """The byte of `TRAINER`, `LAUNCHER` or `RECORDER` in the lock file of a run; the file says
    which process holds it.
    """

    def __init__(self, path: Path, byte: int = TRAINER) -> None:
        """Take the lock, which is required to write in the run's folder. Raises RunFolderError also
        if the folder is a link, another user's, or writable by others.
        """
        try:
            with opened_folder(path.parent, this_user()):
                pass
        except RefusedError as error:
            raise RunFolderError(f"{error}; nothing is written there") from None
        except OSError:
            pass  # opening the lock file reports the error
        super().__init__(path, byte)
        try:
            write_holder(self._fd, byte)
        except BaseException:
            self.release()
            raise

    def _before_release(self) -> None:
        clear_holder(self._fd, self._byte)


def lock_holder(path: Path, byte: int | None = None) -> Holder | None:
    """The process that holds the lock of `byte`, by default the trainer's or the launcher's, in the
    file `path`; None if no process does.
    """
    held = _descriptor_held(path)
    if held >= 0:
        return _holder(held, _identity(os.fstat(held)), byte)
    try:
        fd = open_regular(path, path.parent)
    except OSError:
        return None
    try:
        return _holder(fd, _identity(os.fstat(fd)), byte)
    finally:
        os.close(fd)


def is_held(fd: int) -> bool:
    """Whether a process holds the first byte of the open file; True if unknown."""
    if (*_identity(os.fstat(fd)), 0) in _held_here:
        return True
    try:
        return found_lock(fd, 0, 1) is not None
    except OSError:  # a file system without locks
        return True


def _holder(fd: int, file: tuple[int, int], byte: int | None = None) -> Holder | None:
    """`lock_holder` of an open file. `_held_here` has the locks of this process."""
    asked = (TRAINER, LAUNCHER) if byte is None else (byte,)
    if any(held[:2] == file and held[2] in asked for held in _held_here):
        return Holder(os.getpid())
    try:
        found = found_lock(fd, asked[0], len(asked))  # they are neighbours
    except OSError:  # a file system without locks
        return None
    if found is None:
        return None
    return Holder(found.pid or read_holder(fd, found.byte))


def _descriptor_held(path: Path) -> int:
    """The descriptor with which this process holds a lock on `path`; -1 if it holds none."""
    try:
        file = _identity(path.stat())
    except OSError:
        return -1
    with _no_fork:
        for held, fd in list(_held_here.items()):
            if held[:2] == file and _is_file(fd, file):
                return fd
            if held[:2] == file:  # its lock is lost
                del _held_here[held]
    return -1


def _is_file(fd: int, file: tuple[int, int]) -> bool:
    """Whether `fd` is still the file: a program that closes all descriptors may have reused it."""
    try:
        return _identity(os.fstat(fd)) == file
    except OSError:
        return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


_locks: weakref.WeakSet[ByteLock] = weakref.WeakSet()
_no_fork = threading.RLock()  # no child is forked while a descriptor is not registered


def _leave_to_the_parent() -> None:
    """In a forked child: close the descriptors of locks, which the parent keeps."""
    for fd in {fd for held, fd in _held_here.items() if _is_file(fd, held[:2])}:
        os.close(fd)
    for lock in _locks:
        lock._fd = -1
    _held_here.clear()
    _no_fork.release()


os.register_at_fork(
    before=_no_fork.acquire,
    after_in_parent=_no_fork.release,
    after_in_child=_leave_to_the_parent,
)
