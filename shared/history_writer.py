"""The writing end of a page's history: rings of rows, each level coarser than the one before."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .history import HEAD_WORDS, NO_ROWS, LevelRows
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


class HistoryWriter:
    """Appends rows to level 0 and folds every eight rows of a level into one of the next."""

    def __init__(self, mapping: mmap.mmap, layout: Layout) -> None:
        self._mapping, self._layout = mapping, layout
        self._bytes = memoryview(mapping)
        self._words = self._bytes.cast("Q")
        self._cut(layout.first_row_room)
        # Bits that are set in a publish number which completes no group, by delay; all bits where
        # there is no level to fold into.
        num_folds = len(self._levels) - 1
        self._inside_group = [HISTORY_FOLD ** (k + 1) - 1 for k in range(num_folds)]
        self._inside_group += [-1] * (HISTORY_FOLD - num_folds)

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
        self._folded = np.full(HEAD_WORDS + 3 * row_room, np.nan)
        self._folded_bytes = self._folded.data.cast("B")

    def make_room(self, num_metrics: int) -> None:
        """Lengthen the rows, at least twofold, so that `num_metrics` fit; the newest rows stay, as
        many as the sections then hold. Readers meet rows whose CRC does not hold meanwhile.
        """
        row_room = min(max(num_metrics, 2 * self.row_room), self._layout.max_metrics)
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
        the k-th publish after the one that completed its group.
        """
        start = self._start + (number - 1) % self._num_rows * self._row_bytes
        self._bytes[start + 8 : start + 8 + len(row)] = row
        self._words[start // 8] = number

        delay = number % HISTORY_FOLD
        if (number - delay) & self._inside_group[delay]:
            return
        group = (number - delay) // HISTORY_FOLD ** (delay + 1)
        if group:
            self._fold(delay + 1, group, (len(row) + 8 - VALUES_OFFSET) // 8)

    def _fold(self, to_level: int, group: int, count: int) -> None:
        """Write row `group` (from 1) of `to_level` from the eight rows below it."""
        below = self._rows[to_level - 1]
        first = (group - 1) * HISTORY_FOLD % len(below)
        block = below[first : first + HISTORY_FOLD, HEAD_WORDS:]
        size = self.row_room
        if to_level == 1:
            lows = means = highs = block[:, :count]
        else:
            lows, means, highs = (block[:, i * size : i * size + count] for i in range(3))

        folded = self._folded
        low, mean, high = (
            folded[HEAD_WORDS + i * size : HEAD_WORDS + i * size + count] for i in range(3)
        )
        with np.errstate(all="ignore"):
            np.fmin.reduce(lows, axis=0, out=low)
            np.fmax.reduce(highs, axis=0, out=high)
            np.add.reduce(means, axis=0, out=mean)
            mean /= HISTORY_FOLD
            if np.isnan(mean).any():
                written = ~np.isnan(means)
                np.add.reduce(means, axis=0, out=mean, where=written)
                mean /= np.add.reduce(written, axis=0, dtype=np.int64)
                mean[(means.view(np.uint64) == NEVER_BITS).all(axis=0)] = _NEVER
        self._store(to_level, group, below[first + HISTORY_FOLD - 1, :HEAD_WORDS])

    def _store(self, level_number: int, group: int, head: Floats) -> None:
        """Seal the folded row with the head of its newest row, and copy it into the page."""
        level = self._levels[level_number]
        record = self._folded_bytes
        self._folded[:HEAD_WORDS] = head
        record[:8] = group.to_bytes(8, "little")
        crc = zlib.crc32(record[RECORD_CRC_START:])
        record[RECORD_CRC_OFFSET:RECORD_CRC_START] = crc.to_bytes(4, "little")
        start = level.offset + (group - 1) % level.num_records * level.record_bytes
        self._bytes[start : start + len(record)] = record
