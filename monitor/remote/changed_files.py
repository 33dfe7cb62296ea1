"""What changed in the files of a run since they were sent: as pieces, see `mirror.Piece`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ...shared.errors import PageError
from ...shared.page.layout import Layout
from ...shared.page.reader import MetricsReader
from ...shared.runs.small_file import open_regular, read_small
from .frames import MOST_BYTES, PAGE_FILE, TAIL_BYTES

BLOCK_BYTES = 4096
PIECE_BYTES = 1 << 20
BEGIN_BYTES = 1 << 18  # of a file that grows, its end at first
_BLOCKS_AT_ONCE = PIECE_BYTES // BLOCK_BYTES
_ZEROS = bytes(BLOCK_BYTES)

Pieces = Iterator[tuple[dict[str, Any], bytes]]  # heads and data


class SmallFile:
    """A file that is written as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sent: object = None

    def pieces(self) -> Pieces:
        try:
            status = self._path.stat()
            written = status.st_ino, status.st_size, status.st_mtime_ns
        except OSError:
            written = None
        if written == self._sent:
            return
        self._sent, data = written, b""
        with contextlib.suppress(OSError):  # gone by now, too long, or not a regular file
            data = read_small(self._path, MOST_BYTES[self._path.name], self._path.parent)
        yield whole(self._path.name, data)


def whole(name: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    return {"file": name, "size": len(data)}, data


class GrowingFile:
    """A file that is appended to: its end, then what is added."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = -1
        self._begin = self._end = 0  # of what was sent

    def pieces(self) -> Pieces:
        try:
            file = os.fdopen(open_regular(self._path, self._path.parent), "rb")
        except OSError:
            return
        with file:
            status = os.fstat(file.fileno())
            is_other = status.st_ino != self._inode or status.st_size < self._end
            if is_other or status.st_size - self._begin > TAIL_BYTES:
                self._inode = status.st_ino
                self._begin = max(0, status.st_size - BEGIN_BYTES)
                data = os.pread(file.fileno(), BEGIN_BYTES, self._begin)
                if self._begin:  # in the middle of a line
                    skipped = data.find(b"\n") + 1
                    self._begin, data = self._begin + skipped, data[skipped:]
                yield whole(self._path.name, data)
                self._end = self._begin + len(data)
            elif data := os.pread(file.fileno(), PIECE_BYTES, self._end):
                yield {"file": self._path.name, "at": self._end - self._begin}, data
                self._end += len(data)


class PageFile:
    """A page: the blocks of it that changed, the header's last.

    A block may be read while the writer is at it. That does no harm: every record of a page has its
    own CRC-32, and the next look brings what this one missed.
    """

    def __init__(self) -> None:
        self._identity: object = None
        self._sent: dict[int, bytes] = {}  # by number; what is not there was sent as zeros

    def pieces(self, reader: MetricsReader) -> Pieces:
        """Raises PageError when the page was cut short."""
        if reader.header.identity != self._identity:
            self._identity, self._sent = reader.header.identity, {}
            size = reader.header.layout.page_bytes
            yield {"file": PAGE_FILE, "size": size, "version": str(self._identity)}, b""
        changed = self._changed(reader)
        # Neighbours travel as one piece: their number less their place in the order is the same.
        groups = groupby(enumerate(changed), lambda pair: pair[1] - pair[0])
        for group in reversed([[number for _, number in pairs] for _, pairs in groups]):
            for begin in range(0, len(group), _BLOCKS_AT_ONCE):
                blocks = group[begin : begin + _BLOCKS_AT_ONCE]
                data = b"".join(map(self._sent.__getitem__, blocks))
                yield {"file": PAGE_FILE, "at": blocks[0] * BLOCK_BYTES}, data

    def _changed(self, reader: MetricsReader) -> list[int]:
        """The numbers of the blocks that differ from what was sent, whose contents are now kept."""
        num_bytes, changed = _bytes_sent(reader.header.layout), []
        for start in range(0, num_bytes, PIECE_BYTES):
            wanted = min(PIECE_BYTES, num_bytes - start)
            try:
                read = os.pread(reader.fd, wanted, start)
            except OSError as error:
                raise PageError(f"the page cannot be read: {error.strerror}") from None
            if len(read) < wanted:
                raise PageError(f"cut short: {start + len(read)} bytes are left")
            for at in range(0, len(read), BLOCK_BYTES):
                number, block = (start + at) // BLOCK_BYTES, read[at : at + BLOCK_BYTES]
                if block != self._sent.get(number, _ZEROS[: len(block)]):
                    self._sent[number] = block
                    changed.append(number)
        return changed


def _bytes_sent(layout: Layout) -> int:
    """The ring of rows, the last section, stays at home: rows are sent by `SentRows`."""
    return layout["ROWS"].offset
