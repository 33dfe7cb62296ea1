"""The ring of rows in a page: what each publish wrote, kept until the recorder has put it on disk.

Records follow each other by bytes, so a row takes the room of the values that it wrote. Their size
stands before and behind them: they can be read from either end. The file that they go to:
`row_file.py`.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..errors import PageError
from .layout import (
    FILLER,
    RECORD_CRC_START,
    ROWS_BEGIN_OFFSET,
    ROWS_END_OFFSET,
    ROWS_FIRST_OFFSET,
    ROWS_HEAD_BYTES,
    VALUES_OFFSET,
    Section,
)

_ATTEMPTS = 100
_FIRST = struct.Struct("<qq")  # elapsed nanoseconds, env steps
_SIZE = struct.Struct("<Q")
_HEAD = struct.Struct("<QIIQ")  # bytes of the record, CRC-32, metrics in use, publish


class RowRingWriter:
    """Appends records; the oldest go when the ring is full."""

    def __init__(self, mapping: mmap.mmap, section: Section) -> None:
        # Records are copied into the mapping itself: each slice of a memoryview makes an object.
        self._mapping, self._words = mapping, memoryview(mapping).cast("Q")
        self._start = section.offset + ROWS_HEAD_BYTES
        self._size = section.size_bytes - ROWS_HEAD_BYTES
        self._begin_word = (section.offset + ROWS_BEGIN_OFFSET) // 8
        self._end_word = (section.offset + ROWS_END_OFFSET) // 8
        self._first = section.offset + ROWS_FIRST_OFFSET
        self._begin = self._end = 0

    def append(self, row: bytes) -> None:
        """Store a record, all of it behind its size, whose length is a multiple of 8. `row` is what
        follows the size.

        What is overwritten is given up first, and the end moves last: a reader that looks at the
        beginning again after it has read knows what still held.
        """
        size_bytes = 16 + len(row)
        place = self._end % self._size
        if place + size_bytes > self._size:
            self._give_up(self._end - place)
            filler = FILLER | (self._size - place)
            self._words[(self._start + place) >> 3] = filler
            self._words[(self._start + self._size - 8) >> 3] = filler
            self._end += self._size - place
            place = 0
        if self._end + size_bytes - self._size > self._begin:
            self._give_up(self._end + size_bytes - self._size)
        start = self._start + place
        self._mapping[start + 8 : start + size_bytes - 8] = row
        self._words[start >> 3] = self._words[(start + size_bytes - 8) >> 3] = size_bytes
        self._end += size_bytes
        self._words[self._end_word] = self._end

    def note_first(self, elapsed_ns: int, env_steps: int) -> None:
        """Keep the moment of the first publish, whose record the ring may lose."""
        self._mapping[self._first : self._first + _FIRST.size] = _FIRST.pack(elapsed_ns, env_steps)

    def _give_up(self, until: int) -> None:
        """Move the beginning behind all records that start before `until`."""
        begin = self._begin
        while begin < until:
            begin += self._words[(self._start + begin % self._size) >> 3] & ~FILLER
        self._begin = self._words[self._begin_word] = begin


class RingRows(NamedTuple):
    """Whole records from one read of the ring, oldest first, and where the next read begins.

    Their publish numbers may have gaps: rows overwritten before the read.
    """

    records: list[bytes]
    position: int


class RowRingReader:
    """Reads the records of one page's ring, from any position on."""

    def __init__(self, pread: Callable[[int, int], bytes], section: Section) -> None:
        self._pread = pread
        self._section = section
        self._start = section.offset + ROWS_HEAD_BYTES
        self._size = section.size_bytes - ROWS_HEAD_BYTES

    def num_new_bytes(self, position: int) -> int:
        """How many bytes were written since `position`, overwritten ones included."""
        return max(0, self._ends()[1] - position)

    def read(self, position: int = 0) -> RingRows:
        """The records from `position` on; a torn one, and what follows it, is left for later."""
        begin, end = self._ends()
        if position > end:  # of another page
            position = 0
        first = max(position, begin)
        if first >= end:
            return RingRows([], max(position, end))
        data = self._read(first, end)
        begin_now, _ = self._ends()
        records, reached = [], first
        for offset, size_bytes, is_filler in _records(data, first % self._size, self._size):
            at = first + offset
            reached = at + size_bytes
            if is_filler or at < begin_now:
                continue
            record = data[offset : offset + size_bytes - 8]
            if not is_whole(record):
                reached = at
                break
            records.append(record)
        if reached < begin_now:
            reached = begin_now
        return RingRows(records, reached)

    def first(self) -> tuple[int, int]:
        """Elapsed nanoseconds and env steps at the page's first publish; 0 and 0 before it."""
        offset = self._section.offset + ROWS_FIRST_OFFSET
        elapsed_ns, env_steps = _FIRST.unpack(self._pread(_FIRST.size, offset))
        return elapsed_ns, env_steps

    def newest(self, num_bytes: int) -> list[bytes]:
        """The whole records in the newest `num_bytes` of the ring, newest first."""
        begin, end = self._ends()
        data = self._read(max(begin, end - num_bytes), end)
        begin_now, _ = self._ends()
        records, at = [], len(data)
        while at >= 8 and end - len(data) + at > begin_now:
            word = int.from_bytes(data[at - 8 : at], "little")
            size_bytes, is_filler = word & ~FILLER, bool(word & FILLER)
            if not 8 <= size_bytes <= at or end - len(data) + at - size_bytes < begin_now:
                break
            at -= size_bytes
            if is_filler:
                continue
            record = data[at : at + size_bytes - 8]
            if size_bytes < 8 + VALUES_OFFSET or not is_whole(record):
                break
            records.append(record)
        return records

    def _ends(self) -> tuple[int, int]:
        for _ in range(_ATTEMPTS):
            begin, end = struct.unpack("<QQ", self._pread(16, self._section.offset))
            # The writer may have moved both between the reading of one and of the other.
            if begin <= end <= begin + self._size and not begin % 8 and not end % 8:
                return begin, end
        raise PageError("its ring of rows is damaged")

    def _read(self, first: int, end: int) -> bytes:
        """The bytes from `first` to `end`, which may lie on both sides of the ring's end."""
        place, size_bytes = first % self._size, end - first
        head = min(size_bytes, self._size - place)
        data = self._pread(head, self._start + place)
        return data + self._pread(size_bytes - head, self._start) if head < size_bytes else data


def is_whole(record: bytes) -> bool:
    """Whether the CRC-32 of a record holds; it covers all that follows it."""
    _, crc, _, publish = _HEAD.unpack_from(record)
    return bool(publish > 0 and zlib.crc32(record[RECORD_CRC_START:]) == crc)


def publish_of(record: bytes) -> int:
    return int.from_bytes(record[16:24], "little")


def _records(data: bytes, place: int, ring_bytes: int) -> Iterator[tuple[int, int, bool]]:
    """Offset in `data`, size, and whether it only fills, of each record, as far as they make sense.
    `data` begins at `place` in the ring.
    """
    offset, all_bytes, size_at = 0, len(data), _SIZE.unpack_from
    until = min(ring_bytes - place, all_bytes)  # a record lies on one side of the ring's end
    while offset + 8 <= all_bytes:
        (size_bytes,) = size_at(data, offset)
        is_filler, smallest = size_bytes >= FILLER, VALUES_OFFSET + 8
        if is_filler:
            size_bytes, smallest = size_bytes - FILLER, 8
        if offset >= until:
            until = all_bytes
        if not smallest <= size_bytes <= until - offset or size_bytes & 7:
            return
        yield offset, size_bytes, is_filler
        offset += size_bytes
