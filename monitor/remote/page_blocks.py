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
from ...shared.layout import MAX_PAGE_BYTES
from ...shared.reader import MetricsReader
from .frames import StreamError

BLOCK_BYTES = 4096
_BLOCK_HEAD = struct.Struct("<II")  # number of the block, bytes of it compressed


class PageBlocks:
    """The sending end: what of a page changed since the last look at it."""

    def __init__(self) -> None:
        self._sent = b""

    def changes(self, reader: MetricsReader) -> bytes:
        """The changed blocks, compressed, each behind its number. Raises PageError."""
        page_bytes = reader.header.layout.page_bytes
        page = _read_whole(reader.fd, page_bytes)
        if len(self._sent) != page_bytes:
            self._sent = bytes(page_bytes)
        pieces = []
        sent, now = memoryview(self._sent), memoryview(page)
        for start in range(0, page_bytes, BLOCK_BYTES):
            block = now[start : start + BLOCK_BYTES]
            if block != sent[start : start + BLOCK_BYTES]:
                data = zlib.compress(block, 1)
                pieces += [_BLOCK_HEAD.pack(start // BLOCK_BYTES, len(data)), data]
        self._sent = page
        return b"".join(pieces)


class PageMirror:
    """The receiving end: a file that becomes what the page is."""

    def __init__(self, page_bytes: int) -> None:
        """Raises StreamError when no page has that size."""
        if not 0 < page_bytes <= MAX_PAGE_BYTES:
            raise StreamError(f"the stream claims a page of {page_bytes} bytes")
        self._page_bytes = page_bytes
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the mirror
        self._file.truncate(page_bytes)

    def apply(self, changes: bytes) -> None:
        """Write what `PageBlocks.changes` gave. Raises StreamError when it does not fit."""
        at, fd = 0, self._file.fileno()
        while at < len(changes):
            if at + _BLOCK_HEAD.size > len(changes):
                raise StreamError("the stream is damaged")
            number, size_bytes = _BLOCK_HEAD.unpack_from(changes, at)
            at += _BLOCK_HEAD.size
            block = _inflated(changes[at : at + size_bytes])
            at += size_bytes
            start = number * BLOCK_BYTES
            if start + len(block) > self._page_bytes:
                raise StreamError("the stream is damaged")
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


def _read_whole(fd: int, size_bytes: int) -> bytes:
    try:
        page = os.pread(fd, size_bytes, 0)
    except OSError as error:
        raise PageError(f"the page cannot be read: {error.strerror}") from None
    if len(page) < size_bytes:
        raise PageError(f"cut short: {len(page)} bytes are left")
    return page


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        block = inflate.decompress(data, BLOCK_BYTES)
    except zlib.error:
        raise StreamError("the stream is damaged") from None
    if inflate.unconsumed_tail:
        raise StreamError("the stream is damaged")
    return block
