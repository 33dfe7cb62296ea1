"""A page as blocks: only those that changed travel.

A block may be read while the writer is at it. That does no harm: every record of a page carries its
own CRC-32, and the next look brings what this one missed.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib

from ...shared.errors import PageError
from ...shared.page.reader import MetricsReader
from .frames import StreamError

BLOCK_BYTES = 4096
FRAME_BYTES = 4 << 20  # of changes in one frame, about
MAX_MIRROR_BYTES = 1 << 28
_BLOCKS_AT_ONCE = 256
_ZEROS = bytes(BLOCK_BYTES)
_BLOCK_HEAD = struct.Struct("<II")  # number of the block, bytes of it compressed


class PageBlocks:
    """The sending end: what of a page changed since the last look at it."""

    def __init__(self) -> None:
        self._sent: dict[int, bytes] = {}  # by number; what is not there was sent as zeros
        self.is_complete = True

    def changes(self, reader: MetricsReader) -> bytes:
        """The changed blocks, compressed, each behind its number, lowest first. `is_complete` is
        False where there are more of them than a frame takes. Raises PageError.
        """
        page_bytes = reader.header.layout.page_bytes
        pieces: list[bytes] = []
        num_bytes = 0
        for start in range(0, page_bytes, BLOCK_BYTES * _BLOCKS_AT_ONCE):
            read = _read(reader.fd, min(BLOCK_BYTES * _BLOCKS_AT_ONCE, page_bytes - start), start)
            for at in range(0, len(read), BLOCK_BYTES):
                number, block = (start + at) // BLOCK_BYTES, read[at : at + BLOCK_BYTES]
                if block == self._sent.get(number, _ZEROS[: len(block)]):
                    continue
                if num_bytes > FRAME_BYTES:
                    self.is_complete = False
                    return b"".join(pieces)
                data = zlib.compress(block, 1)
                pieces += [_BLOCK_HEAD.pack(number, len(data)), data]
                num_bytes += len(data)
                self._sent[number] = block
        self.is_complete = True
        return b"".join(pieces)


class PageMirror:
    """The receiving end: a file that becomes what the page is."""

    def __init__(self, page_bytes: int) -> None:
        """Raises StreamError when no page has that size."""
        if not 0 < page_bytes <= MAX_MIRROR_BYTES:
            raise StreamError(f"the stream claims a page of {page_bytes} bytes")
        self._page_bytes = page_bytes
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the mirror
        self._file.truncate(page_bytes)

    def apply(self, changes: bytes) -> None:
        """Write what `PageBlocks.changes` gave. Raises StreamError when it does not fit."""
        at, fd, before = 0, self._file.fileno(), -1
        while at < len(changes):
            if at + _BLOCK_HEAD.size > len(changes):
                raise StreamError("the stream is damaged")
            number, size_bytes = _BLOCK_HEAD.unpack_from(changes, at)
            at += _BLOCK_HEAD.size
            block = _inflated(changes[at : at + size_bytes])
            at += size_bytes
            start = number * BLOCK_BYTES
            # Each block at most once: a small frame must not have much written.
            if start + len(block) > self._page_bytes or number <= before:
                raise StreamError("the stream is damaged")
            before = number
            os.pwrite(fd, block, start)

    def open(self) -> MetricsReader:
        """A reader of the mirrored page. Raises PageError."""
        fd = os.dup(self._file.fileno())
        try:
            return MetricsReader(fd)
        except PageError:
            os.close(fd)
            raise

    def close(self) -> None:
        self._file.close()


def _read(fd: int, size_bytes: int, offset: int) -> bytes:
    try:
        data = os.pread(fd, size_bytes, offset)
    except OSError as error:
        raise PageError(f"the page cannot be read: {error.strerror}") from None
    if len(data) < size_bytes:
        raise PageError(f"cut short: {offset + len(data)} bytes are left")
    return data


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        block = inflate.decompress(data, BLOCK_BYTES)
    except zlib.error:
        raise StreamError("the stream is damaged") from None
    if inflate.unconsumed_tail:
        raise StreamError("the stream is damaged")
    return block
