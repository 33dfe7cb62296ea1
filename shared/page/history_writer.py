"""The writing end of a page's history: rings of rows, each level coarser than the one before."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .history import HEAD_WORDS
from .history_level import NO_ROWS, LevelRows
from .layout import (
    HISTORY_FOLD,
    NEVER,
    NEVER_BITS,
    RECORD_CRC_OFFSET,
    RECORD_CRC_START,
    VALUES_OFFSET,
    Layout,
)

Floats = NDArray[np.float64]
_NEVER = np.frombuffer(NEVER, np.float64)[0]


MOST_AT_ONCE = 16  # rows of a level that are folded in one publish


class HistoryWriter:
    """Appends rows to level 0 and folds every eight rows of a level into one of the next: sixteen
    such at once where the level has room for them to wait. A fold costs tens of microseconds,
    however many rows are in it; so one publish in 128 pays for one, and not one in 8.
    """

    def __init__(self, mapping: mmap.mmap, layout: Layout) -> None:
        self._mapping, self._layout = mapping, layout
        self._bytes = memoryview(mapping)
        self._words = self._bytes.cast("Q")
        self._number = 0  # of the newest publish
        self._cut(layout.first_row_room)

    def _cut(self, row_room: int) -> None:
        """See the sections as rows that have room for `row_room` metrics each."""
        self.row_room = row_room
        self._levels = self._layout.history_levels(row_room)
        self._rows: list[Floats] = [
            np.frombuffer(
                self._mapping, np.float64, level.num_records * level.record_bytes // 8, level.offset
            ).reshape(level.num_records, level.record_bytes // 8)
            for level in self._levels
        ]
        level_0 = self._levels[0]
        self._start, self._row_bytes = level_0.offset, level_0.record_bytes
        self._num_rows = level_0.num_records
        self._folded = np.full((MOST_AT_ONCE, HEAD_WORDS + 3 * row_room), np.nan)
        self._folded_bytes = self._folded.data.cast("B")
        self._newest = [0] * len(self._levels)  # row of each level, as far as it is folded
        # Bits that are set in a publish number after which nothing is folded, by delay; all bits
        # where there is no level to fold into.
        self._inside = [-1] * HISTORY_FOLD
        for k, level in enumerate(self._levels[:-1]):
            at_once = min(MOST_AT_ONCE, level.num_records // (2 * HISTORY_FOLD)) or 1
            at_once = 1 << (at_once.bit_length() - 1)
            self._inside[k] = at_once * HISTORY_FOLD ** (k + 1) - 1

    def make_room(self, num_metrics: int) -> None:
        """Lengthen the rows, at least twofold, so that `num_metrics` fit; the newest rows stay, as
        many as the sections then hold. Readers meet rows whose CRC does not hold meanwhile.
        """
        row_room = min(max(num_metrics, 2 * self.row_room), self._layout.max_metrics)
        for level in range(1, len(self._levels)):
            self._fold_up_to(level, self._number // HISTORY_FOLD**level, self.row_room)
        kept = []
        for number, rows in enumerate(self._rows):
            values = rows[:, HEAD_WORDS:].reshape(len(rows), 3 if number else 1, -1)
            kept.append(LevelRows(rows[:, :HEAD_WORDS].view(np.int64).copy(), values.copy()))
        self._cut(row_room)
        self.begin_with(kept)

    def begin_with(self, levels: Sequence[LevelRows], publish: int | None = None) -> None:
        """Take over rows, of a former page or of this one when it was cut otherwise.

        With a `publish` those above it are left out. Places whose row is not among them become
        never written: rows that came later, and older ones that a copy has lost.
        """
        for number, (level, rows) in enumerate(zip(self._levels, self._rows, strict=True)):
            taken = levels[number] if number < len(levels) else NO_ROWS
            sequences = taken.heads[:, 0]
            newest = int(sequences.max(initial=0))
            if publish is not None:
                newest = publish // HISTORY_FOLD**number
            is_kept = (sequences > max(0, newest - level.num_records)) & (sequences <= newest)
            heads, values = taken.heads[is_kept], taken.values[is_kept]
            rows[:, :HEAD_WORDS] = 0.0
            rows[:, HEAD_WORDS:] = _NEVER
            places = (heads[:, 0] - 1) % level.num_records
            by_column = rows[:, HEAD_WORDS:].reshape(len(rows), 3 if number else 1, -1)
            by_column[places, :, : values.shape[2]] = values
            rows[places, :HEAD_WORDS] = heads.view(np.float64)
            self._newest[number] = int(sequences[is_kept].max(initial=0))
            if number:
                self._seal(number, places)

    def _seal(self, number: int, places: NDArray[np.int64]) -> None:
        """Make the CRC-32 of folded rows that were moved right again."""
        level = self._levels[number]
        for place in places.tolist():
            start = level.offset + place * level.record_bytes
            record = self._bytes[start : start + level.record_bytes]
            crc = zlib.crc32(record[RECORD_CRC_START:])
            record[RECORD_CRC_OFFSET:RECORD_CRC_START] = crc.to_bytes(4, "little")

    def forget(self, place: int) -> None:
        """Make metric `place`, new in the middle of a run, never written in the rows before it."""
        self._rows[0][:, HEAD_WORDS + place] = _NEVER

    def append(self, row: bytes, number: int) -> None:
        """Store the row of publish `number`: all of a record behind its sequence.

        At most one level is folded each time, so that no publish pays for several: level k + 1 in
        the k-th publish after the one that completed its groups.
        """
        start = self._start + (number - 1) % self._num_rows * self._row_bytes
        self._mapping[start + 8 : start + 8 + len(row)] = row
        self._words[start // 8] = number

        self._number = number

        delay = number % HISTORY_FOLD
        if (number - delay) & self._inside[delay]:
            return
        group = (number - delay) // HISTORY_FOLD ** (delay + 1)
        if group:
            self._fold_up_to(delay + 1, group, (len(row) + 8 - VALUES_OFFSET) // 8)

    def _fold_up_to(self, level: int, group: int, count: int) -> None:
        """Write the rows of `level` up to `group` that are not there yet, as far as the level below
        still has all their rows.
        """
        below = self._levels[level - 1].num_records
        group = min(group, self._newest[level - 1] // HISTORY_FOLD if level > 1 else group)
        first = max(self._newest[level], group - below // HISTORY_FOLD) + 1
        while first <= group:
            # As many as lie behind each other in the ring below.
            place = (first - 1) * HISTORY_FOLD % below
            num_rows = min(group - first + 1, MOST_AT_ONCE, (below - place) // HISTORY_FOLD)
            self._fold(level, first, num_rows, count)
            first += num_rows
        self._newest[level] = max(group, self._newest[level])

    def _fold(self, to_level: int, group: int, num_rows: int, count: int) -> None:
        """Write `num_rows` rows of `to_level` from row `group` (from 1) on, of eight below each."""
        below = self._rows[to_level - 1]
        first = (group - 1) * HISTORY_FOLD % len(below)
        block = below[first : first + HISTORY_FOLD * num_rows].reshape(num_rows, HISTORY_FOLD, -1)
        size, values = self.row_room, block[:, :, HEAD_WORDS:]
        if to_level == 1:
            lows = means = highs = values[:, :, :count]
        else:
            lows, means, highs = (values[:, :, i * size : i * size + count] for i in range(3))

        folded = self._folded[:num_rows]
        folded[:, :HEAD_WORDS] = block[:, -1, :HEAD_WORDS]
        low, mean, high = (
            folded[:, HEAD_WORDS + i * size : HEAD_WORDS + i * size + count] for i in range(3)
        )
        with np.errstate(all="ignore"):
            np.fmin.reduce(lows, axis=1, out=low)
            np.fmax.reduce(highs, axis=1, out=high)
            np.add.reduce(means, axis=1, out=mean)
            mean /= HISTORY_FOLD
            if np.isnan(mean).any():
                written = ~np.isnan(means)
                sums = np.add.reduce(means, axis=1, where=written)
                np.divide(sums, np.add.reduce(written, axis=1, dtype=np.int64), out=mean)
                mean[(means.view(np.uint64) == NEVER_BITS).all(axis=1)] = _NEVER
        self._store(to_level, group, num_rows)

    def _store(self, level_number: int, group: int, num_rows: int) -> None:
        """Seal folded rows, each with the head of its newest row, and copy them into the page."""
        level = self._levels[level_number]
        size_bytes = 8 * self._folded.shape[1]
        for row in range(num_rows):
            record = self._folded_bytes[row * size_bytes : (row + 1) * size_bytes]
            record[:8] = (group + row).to_bytes(8, "little")
            crc = zlib.crc32(record[RECORD_CRC_START:])
            record[RECORD_CRC_OFFSET:RECORD_CRC_START] = crc.to_bytes(4, "little")
            start = level.offset + (group + row - 1) % level.num_records * level.record_bytes
            self._bytes[start : start + size_bytes] = record
