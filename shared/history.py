"""The whole of a run as curves, read from the rings of a page."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import PageError
from .layout import (
    HISTORY_FOLD,
    HISTORY_LEVELS,
    MAX_HISTORY_BYTES,
    MAX_HISTORY_ROWS,
    NEVER,
    NEVER_BITS,
    RECORD_CRC_START,
    SCHEMA_ROW_ROOM_OFFSET,
    VALUES_OFFSET,
    Layout,
    Section,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

HEAD_WORDS = VALUES_OFFSET // 8
_PIECE_BYTES = 2 << 20  # read at once
_MARGIN_ROWS = 24
_SPARE_SHARE = 4  # a buffer has room for a quarter of a ring before it is made anew
NEVER_WRITTEN = np.frombuffer(NEVER, np.float64)[0]
PUBLISH, WALL_NS, MONOTONIC_NS, ITERATION, ENV_STEPS = range(2, 7)  # words of a record's head


class Series(NamedTuple):
    """One metric over the rows of a history, each [R]; NaN where it has no number."""

    low: Floats
    mean: Floats
    high: Floats


@dataclass(frozen=True)
class History:
    """A run from its first publish to its last: single publishes at the newest end, before them
    rows of 8, 64, ... publishes, each with the lowest, the mean and the highest value.
    """

    names: list[str] = field(default_factory=list)
    _heads: Integers = field(default_factory=lambda: np.zeros((0, HEAD_WORDS), np.int64))
    _values: list[Floats] = field(default_factory=list)  # by level, [R, M] or [R, 3, M]
    tells_gaps: bool = True  # pages of layout 1.0 do not

    def __len__(self) -> int:
        return len(self._heads)

    @cached_property
    def publish(self) -> Integers:
        """Number of the newest publish in each row [R]; the same holds for what follows."""
        return self._heads[:, PUBLISH]

    @cached_property
    def iteration(self) -> Integers:
        """[R], negative where there is none."""
        return self._heads[:, ITERATION]

    @cached_property
    def env_steps(self) -> Integers:
        """[R], negative where there are none."""
        return self._heads[:, ENV_STEPS]

    @cached_property
    def elapsed_s(self) -> Floats:
        """Seconds since the page was made [R]."""
        return self._heads[:, MONOTONIC_NS] / 1e9

    @cached_property
    def wall_s(self) -> Floats:
        """Seconds since 1970 [R]."""
        return self._heads[:, WALL_NS] / 1e9

    @cached_property
    def num_publishes(self) -> Integers:
        """Publishes that each row stands for [R]: 1, 8, 64, ..."""
        spans = [HISTORY_FOLD**level for level in reversed(range(len(self._values)))]
        return np.repeat(np.array(spans, np.int64), [len(values) for values in self._values])

    def series(self, name: str) -> Series:
        """The values of metric `name`; all NaN when the run has none of that name."""
        if name not in self.names:
            nothing = np.full(len(self), NEVER_WRITTEN)
            return Series(nothing, nothing, nothing)
        place = self.names.index(name)
        columns = [
            np.repeat(values[:, place, None], 3, axis=1) if values.ndim == 2 else values[..., place]
            for values in self._values
        ]
        low, mean, high = np.concatenate([*columns, np.zeros((0, 3))]).T
        return Series(low, mean, high)

    def gaps(self, series: Series) -> NDArray[np.bool_]:
        """The rows of a series of this history in which something was written, but no finite
        number [R].
        """
        if not self.tells_gaps:
            return np.zeros(len(self), np.bool_)
        mean = np.ascontiguousarray(series.mean)
        found: NDArray[np.bool_] = ~np.isfinite(mean) & (mean.view(np.uint64) != NEVER_BITS)
        return found

    def until(self, num_rows: int) -> History:
        """The first `num_rows` rows: the run as it was when they were the newest."""
        values, left = [], num_rows
        for level in self._values:
            values.append(level[: max(0, left)])
            left -= len(level)
        return History(self.names, self._heads[:num_rows], values, self.tells_gaps)

    def since(self, row: int) -> History:
        """The rows from number `row` on, counted from 0."""
        values, left = [], row
        for level in self._values:
            values.append(level[max(0, left) :])
            left -= len(level)
        return History(self.names, self._heads[row:], values, self.tells_gaps)


class LevelRows(NamedTuple):
    """Rows of one level as they lie in a page: `heads` [R, 8], the sequence first, and `values`
    [R, 1, M], or [R, 3, M] of a folded level.
    """

    heads: Integers
    values: Floats


NO_ROWS = LevelRows(np.zeros((0, HEAD_WORDS), np.int64), np.zeros((0, 1, 0)))


class Moment(NamedTuple):
    """The head of a row, as far as it tells the speed."""

    publish: int
    monotonic_ns: int
    env_steps: int


class HistoryReader:
    """Reads the rings of one page, each time only what is new since the last."""

    def __init__(
        self, pread: Callable[[int, int], bytes], layout: Layout, tells_gaps: bool = True
    ) -> None:
        self._tells_gaps = tells_gaps
        self._pread, self._layout = pread, layout
        self._cut(layout.first_row_room)

    def _cut(self, row_room: int) -> None:
        """See the sections as rows of `row_room` metrics, none of them read yet."""
        self._row_room = row_room
        self.sections = levels = self._layout.history_levels(row_room)
        self._rings = [
            _Ring(self._pread, section, level, row_room, _rows_kept(section, len(levels)))
            for level, section in enumerate(levels)
        ]

    def forget(self) -> None:
        """Drop the rows that were read. Their reader is part of a cycle, which Python may keep for
        long; histories that were given keep theirs.
        """
        self._rings = []

    def _look_at_row_room(self) -> bool:
        """Cut the sections anew when the writer has; whether that was so."""
        if self._layout.major == 1:
            return False
        schema = self._layout["SCHEMA"]
        row_room = int.from_bytes(self._pread(8, schema.offset + SCHEMA_ROW_ROOM_OFFSET), "little")
        if not self._layout.first_row_room <= row_room <= self._layout.max_metrics:
            raise PageError(f"its history claims room for {row_room} metrics")
        is_other = row_room != self._row_room
        if is_other:
            self._cut(row_room)
        return is_other

    def rows(self) -> list[LevelRows]:
        """All whole rows of each level, level 0 first, also those on both sides of one that is not;
        never written is the NaN that says so.
        """
        self._look_at_row_room()
        levels = []
        for level, ring in enumerate(self._rings):
            rows, columns = ring.read_all(), 3 if level else 1
            values = ring.values(rows).reshape(len(rows), columns, self._row_room)
            if not self._tells_gaps:
                values[np.isnan(values)] = NEVER_WRITTEN
            levels.append(LevelRows(rows[:, :HEAD_WORDS].view(np.int64), values))
        return levels

    def newest_before(self, publish: int, monotonic_ns: int) -> Moment | None:
        """The newest row that is as old as `monotonic_ns`, of the finest level that reaches so far
        back from `publish`; else the oldest there is. A dozen rows are read, not the history.
        """
        self._look_at_row_room()
        oldest: Moment | None = None
        for ring in self._rings:
            found = ring.newest_before(publish, monotonic_ns)
            if found is None:
                continue
            if oldest is None or found.monotonic_ns < oldest.monotonic_ns:
                oldest = found
            if found.monotonic_ns <= monotonic_ns or found.publish == 1:
                break
        return oldest

    def read(self, publish: int, names: list[str]) -> tuple[History, bool]:
        """The history up to publish number `publish` of a page whose metrics are `names`, and
        whether its rows follow each other without a gap: a writer that laps the reader leaves one.
        """
        self._look_at_row_room()
        history, is_whole = self._read(publish, names)
        if self._look_at_row_room():  # cut anew meanwhile: what was read was something else
            return history, False
        return history, is_whole

    def _read(self, publish: int, names: list[str]) -> tuple[History, bool]:
        heads: list[Integers] = []
        values: list[Floats] = []
        is_whole = True
        begin = publish + 1  # the first publish that the levels seen so far hold
        for ring in self._rings:
            ring.update(publish)
            rows = ring.rows_before(begin)
            if len(rows):
                is_whole &= not heads or ring.last_publish(rows) + 1 == begin
                begin = ring.first_publish(rows)
                heads.append(rows[:, :HEAD_WORDS].view(np.int64))
                values.append(ring.values(rows)[..., : len(names)])
        if not heads:
            return History(names), True
        heads, values = heads[::-1], values[::-1]
        return History(names, np.concatenate(heads), values, self._tells_gaps), is_whole


def _rows_kept(section: Section, num_levels: int) -> int:
    """Rows that are read of a level: all of a page of up to 253 metrics. The coarser levels reach
    further back, so that what is left out is fineness, not the run's beginning.
    """
    num_shares = max(num_levels, HISTORY_LEVELS)
    rows = MAX_HISTORY_BYTES // num_shares // section.record_bytes
    return max(1, min(section.num_records, rows, MAX_HISTORY_ROWS // num_shares))


class _Ring:
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

    def newest_before(self, publish: int, monotonic_ns: int) -> Moment | None:
        """The newest row up to `publish` that is as old as that; the oldest where none is. None
        where the ring has none.
        """
        num_rows = self._section.num_records
        last = publish // self._span
        # What comes next may be overwriting the oldest.
        first = max(1, last - num_rows + 1 + min(_MARGIN_ROWS, num_rows // 4))
        found = self._moment(first) if first <= last else None
        if found is None or found.monotonic_ns > monotonic_ns:
            return found
        last += 1
        while last - first > 1:  # by halves; rows that are not folded yet are newer
            middle = (first + last) // 2
            moment = self._moment(middle)
            if moment is not None and moment.monotonic_ns <= monotonic_ns:
                found, first = moment, middle
            else:
                last = middle
        return found

    def _moment(self, number: int) -> Moment | None:
        """Of one row; None when it is not whole."""
        (row,) = self._read(number, number)
        if not self._holds(row, int(row[1]) >> 32):
            return None
        publish, _, monotonic_ns, _, env_steps = row[2:7].view(np.int64).tolist()
        return Moment(publish, monotonic_ns, env_steps)

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
