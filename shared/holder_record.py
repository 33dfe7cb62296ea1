"""Which process holds a byte of a lock file, as it says itself in that file: the kernel tells no
process of a lock that belongs to an open file.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress

from .host import boot_id, pid_namespace, process_start

# The byte that is held, process, its start, boot, namespace of process numbers, its descriptor;
# then CRC-32.
_RECORD = struct.Struct("<IIQ16sQI")
RECORD_BYTES = 64


def write_holder(fd: int, byte: int, place: int) -> None:
    """Say in record `place` of the file that this process holds `byte`. Where the disk takes
    nothing, nobody is named.
    """
    pid = os.getpid()
    record = _RECORD.pack(byte, pid, process_start(pid), boot_id(), pid_namespace(), fd)
    _write(fd, record + zlib.crc32(record).to_bytes(4, "little"), place)


def clear_holder(fd: int, place: int) -> None:
    _write(fd, b"", place)


def read_holder(fd: int, byte: int, place: int) -> int:
    """The process that says it holds `byte`; 0 where none does that can be seen from here.

    A file is bytes that anyone may have written: a process counts only if it lives, was started
    when it says, is numbered as this one is, and has the file open.
    """
    try:
        data = os.pread(fd, RECORD_BYTES, place * RECORD_BYTES)
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


def _write(fd: int, record: bytes, place: int) -> None:
    """The file's time stays that of its making, by which runs are sorted."""
    with suppress(OSError):
        status = os.fstat(fd)
        os.pwrite(fd, record.ljust(RECORD_BYTES, b"\0"), place * RECORD_BYTES)
        os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))
