"""One ring of a page's history: the rows of one level, read as they come."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .history import HEAD_WORDS, NEVER_WRITTEN, PUBLISH, Floats, Integers
from .layout import HISTORY_FOLD, RECORD_CRC_START, Section

Words = NDArray[np.uint64]

_PIECE_BYTES = 2 << 20  # read at once
_MARGIN_ROWS = 24
_SPARE_SHARE = 4  # a buffer has room for a quarter of a ring before it is made anew


class LevelRows(NamedTuple):
    """Rows of one level as they lie in a page: `heads` [R, 8], the sequence first, and `values`
    [R, 1, M], or [R, 3, M] of a folded level.
    """

    heads: Integers
    values: Floats


NO_ROWS = LevelRows(np.zeros((0, HEAD_WORDS), np.int64), np.zeros((0, 1, 0)))


class RowHead(NamedTuple):
    """The head of a row, as far as it tells the speed."""

    publish: int
    monotonic_ns: int
    env_steps: int


class HistoryLevel:
    """The rows of one level that were read so far, oldest first, without gaps.

    They lie in a buffer with some room behind them. What is in use is never written again: rows
    that were handed out stay as they are, and a look costs memory for what is new alone.
    """

    def __init__(
        self,
        pread: Callable[[int, int], bytes],
        section: Section,
        level: int,
        max_metrics: int,
        max_rows: int,
    ) -> None:
        """Keeps the newest `max_rows`."""
        self._pread = pread
        self._section = section
        self._max_rows = max_rows
        self._columns = 1 if level == 0 else 3
        self._max_metrics = max_metrics
        self._span: int = HISTORY_FOLD**level  # publishes in a row
        self._buffer: Words = np.zeros((0, section.record_bytes // 8), np.uint64)
        self._rows = self._buffer
        self._end = 0  # of the rows in the buffer

    def read_all(self) -> Words:
        """Every row of the page that is whole."""
        section = self._section
        data = self._pread(section.num_records * section.record_bytes, section.offset)
        rows = np.frombuffer(data, np.uint64).reshape(section.num_records, -1).copy()
        counts = (rows[:, 1] >> np.uint64(32)).astype(np.int64)
        is_whole = [self._holds(row, int(count)) for row, count in zip(rows, counts, strict=True)]
        rows, counts = rows[is_whole], counts[is_whole]
        self._blank_beyond(rows, counts)
        return rows

    def newest_before(self, publish: int, monotonic_ns: int) -> RowHead | None:
        """The newest row up to `publish` that is as old as that; the oldest where none is. None
        where the ring has none.
        """
        num_rows = self._section.num_records
        last = publish // self._span
        # What comes next may be overwriting the oldest.
        first = max(1, last - num_rows + 1 + min(_MARGIN_ROWS, num_rows // 4))
        found = self._head(first) if first <= last else None
        if found is None or found.monotonic_ns > monotonic_ns:
            return found
        last += 1
        while last - first > 1:  # by halves; rows that are not folded yet are newer
            middle = (first + last) // 2
            head = self._head(middle)
            if head is not None and head.monotonic_ns <= monotonic_ns:
                found, first = head, middle
            else:
                last = middle
        return found

    def _head(self, number: int) -> RowHead | None:
        """Of one row; None when it is not whole."""
        (row,) = self._read(number, number)
        if not self._holds(row, int(row[1]) >> 32):
            return None
        publish, _, monotonic_ns, _, env_steps = row[2:7].view(np.int64).tolist()
        return RowHead(publish, monotonic_ns, env_steps)

    def update(self, publish: int) -> None:
        """Read the rows that came since the last time; drop those the page has dropped."""
        newest = publish // self._span
        oldest = max(1, newest - self._max_rows + 1)
        known = int(self._rows[-1, 0]) if len(self._rows) else 0
        if newest > known:
            rows = self._whole(max(known + 1, oldest), newest)
            if len(rows):
                self._append(rows, follows=int(rows[0, 0]) == known + 1)
        if len(self._rows):
            self._rows = self._rows[max(0, oldest - int(self._rows[0, 0])) :]

    def _append(self, rows: Words, follows: bool) -> None:
        """Put `rows` behind those that are there, or in their place where they do not follow."""
        kept = self._rows if follows else self._rows[:0]
        end = self._end if follows else len(self._buffer)
        if end + len(rows) > len(self._buffer):
            room = len(kept) + len(rows) + self._max_rows // _SPARE_SHARE
            self._buffer = np.empty((room, rows.shape[1]), np.uint64)
            self._buffer[: len(kept)] = kept
            end = len(kept)
        self._buffer[end : end + len(rows)] = rows
        self._rows = self._buffer[end - len(kept) : end + len(rows)]
        self._end = end + len(rows)

    def rows_before(self, publish: int) -> Words:
        """The rows that end before `publish`, from where a row of the next level ends as well:
        the levels then meet without a gap or a publish counted twice.
        """
        rows = self._rows
        if len(rows):
            rows = rows[: max(0, -(-publish // self._span) - int(rows[0, 0]))]
        if not len(rows) or (first := int(rows[0, 0])) == 1:
            return rows
        last_left_out = -(-(first - 1) // HISTORY_FOLD) * HISTORY_FOLD
        return rows[last_left_out + 1 - first :]

    def first_publish(self, rows: Words) -> int:
        return (int(rows[0, 0]) - 1) * int(self._span) + 1

    def last_publish(self, rows: Words) -> int:
        return int(rows[-1, 0]) * int(self._span)

    def values(self, rows: Words) -> Floats:
        """[R, M] at level 0, else [R, 3, M]: lowest, mean, highest."""
        values = rows[:, HEAD_WORDS:][:, : self._columns * self._max_metrics].view(np.float64)
        return values if self._columns == 1 else values.reshape(-1, 3, self._max_metrics)

    def _read(self, first: int, last: int) -> Words:
        """Rows `first` to `last` as they lie in the ring, whole or not."""
        section = self._section
        begin, end = (first - 1) % section.num_records, (last - 1) % section.num_records + 1
        pieces = [(begin, end)] if begin < end else [(begin, section.num_records), (0, end)]
        data = b"".join(
            self._pread((b - a) * section.record_bytes, section.offset + a * section.record_bytes)
            for a, b in pieces
        )
        rows = np.frombuffer(data, np.uint64).reshape(-1, section.record_bytes // 8).copy()
        rows[rows[:, 0] != np.arange(first, last + 1), 0] = 0
        return rows

    def _whole(self, first: int, last: int) -> Words:
        """The newest of rows `first` to `last` without a gap whose CRC-32 holds; NEVER where they
        have no metric.

        The last of them may not be there yet: a row follows its snapshot, a folded row by several
        publishes. They are read piece by piece from the end, so that a page full of holes costs no
        memory.
        """
        pieces: list[Words] = []
        piece_rows = max(1, _PIECE_BYTES // self._section.record_bytes)
        while last >= first:
            begin = max(first, last - piece_rows + 1)
            rows = self._read(begin, last)
            whole, has_gap = self._newest_whole(rows, may_skip=not pieces)
            if len(whole):
                pieces.append(whole)
            if pieces and has_gap:
                break
            last = begin - 1
        return np.concatenate(pieces[::-1]) if pieces else self._buffer[:0]

    def _newest_whole(self, rows: Words, may_skip: bool) -> tuple[Words, bool]:
        """The newest whole rows of `rows`, and whether one before them is not. Those at the end
        that are not there yet are left out, where that `may` be.
        """
        counts = (rows[:, 1] >> np.uint64(32)).astype(np.int64)
        end = len(rows)
        if may_skip:
            claimed = np.flatnonzero(rows[:, 0])
            end = int(claimed[-1]) + 1 if len(claimed) else 0
            while end and not self._holds(rows[end - 1], int(counts[end - 1])):
                end -= 1
        begin = end
        while begin and self._holds(rows[begin - 1], int(counts[begin - 1])):
            begin -= 1
        rows, counts = rows[begin:end], counts[begin:end]
        self._blank_beyond(rows, counts)
        return rows, begin > 0

    def _blank_beyond(self, rows: Words, counts: Integers) -> None:
        """Make the values beyond the metrics in use at each row never written."""
        beyond = np.arange(self._max_metrics) >= counts[:, None]
        self.values(rows)[beyond if self._columns == 1 else beyond[:, None].repeat(3, 1)] = (
            NEVER_WRITTEN
        )

    def _holds(self, row: Words, count: int) -> bool:
        """Whether `row`, of `count` metrics, is there and whole. Its CRC covers its publish number,
        which must be that of the row: a torn row may have the sequence of another.
        """
        if row[0] == 0 or row[PUBLISH] != row[0] * self._span or count > self._max_metrics:
            return False
        words = HEAD_WORDS + (self._columns * self._max_metrics if self._columns > 1 else count)
        crc = int(row[1]) & 0xFFFFFFFF
        return zlib.crc32(row[:words].data.cast("B")[RECORD_CRC_START:]) == crc
