"""The writing end of a page's history: rings of rows, each level coarser than the one before."""

from __future__ import annotations

import mmap
import zlib

import numpy as np
from numpy.typing import NDArray

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
HEAD_WORDS = VALUES_OFFSET // 8
_NEVER = np.frombuffer(NEVER, np.float64)[0]


class HistoryWriter:
    """Appends rows to level 0 and folds every eight rows of a level into one of the next."""

    def __init__(self, mapping: mmap.mmap, layout: Layout) -> None:
        self._bytes = memoryview(mapping)
        self._words = self._bytes.cast("Q")
        self._levels = layout.history_levels
        self._max_metrics = layout.max_metrics
        self._rows: list[Floats] = [
            np.frombuffer(mapping, np.float64, level.size_bytes // 8, level.offset).reshape(
                level.num_records, level.record_bytes // 8
            )
            for level in self._levels
        ]
        level_0 = self._levels[0]
        self._start, self._row_bytes = level_0.offset, level_0.record_bytes
        self._num_rows = level_0.num_records
        # Bits that are set in a publish number which completes no group, by delay; all bits where
        # there is no level to fold into.
        num_folds = len(self._levels) - 1
        self._inside_group = [HISTORY_FOLD ** (k + 1) - 1 for k in range(num_folds)]
        self._inside_group += [-1] * (HISTORY_FOLD - num_folds)
        self._folded = np.full(HEAD_WORDS + 3 * self._max_metrics, np.nan)
        self._folded_bytes = self._folded.data.cast("B")

    def begin_with(self, page: bytes, publish: int) -> None:
        """Take over the rings of a former page; what is not up to `publish` becomes never written.

        Those are rows that came later, and older ones in places whose row a copy has lost.
        """
        for level, rows in zip(self._levels, self._rows, strict=True):
            where = slice(level.offset, level.offset + level.size_bytes)
            self._bytes[where] = page[where]
            sequences = rows[:, 0].view(np.int64)
            newest = publish // HISTORY_FOLD ** self._levels.index(level)
            expected = newest - (newest - 1 - np.arange(len(rows))) % len(rows)
            lost = sequences != np.maximum(expected, 0)
            sequences[lost] = 0
            rows[lost, HEAD_WORDS:] = _NEVER

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
        size = self._max_metrics
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
