"""Reads the history of a page: all of its levels, as one run from its first publish on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import PageError
from .history import HEAD_WORDS, Floats, History, Integers
from .history_level import HistoryLevel, LevelRows, RowHead
from .layout import (
    HISTORY_LEVELS,
    MAX_HISTORY_BYTES,
    MAX_HISTORY_ROWS,
    SCHEMA_ROW_ROOM_OFFSET,
    Layout,
    Section,
)


class HistoryReader:
    """Reads the rings of one page, each time only what is new since the last."""

    def __init__(self, pread: Callable[[int, int], bytes], layout: Layout) -> None:
        self._pread, self._layout = pread, layout
        self._lasting_gaps: set[int] = set()  # publishes before which rows are missing on the page
        self._cut(layout.first_row_room)

    def _cut(self, row_room: int) -> None:
        """See the sections as rows of `row_room` metrics, none of them read yet."""
        self._row_room = row_room
        self.sections = levels = self._layout.history_levels(row_room)
        self._rings = [
            HistoryLevel(self._pread, section, level, row_room, _rows_kept(section, len(levels)))
            for level, section in enumerate(levels)
        ]

    def forget(self) -> None:
        """Drop the rows that were read. Their reader is part of a cycle, which Python may keep for
        long; histories that were given keep theirs.
        """
        self._rings = []

    def _look_at_row_room(self) -> bool:
        """Cut the sections anew when the writer has; whether that was so."""
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
            levels.append(LevelRows(rows[:, :HEAD_WORDS].view(np.int64), values))
        return levels

    def newest_before(self, publish: int, monotonic_ns: int) -> RowHead | None:
        """The newest row that is as old as `monotonic_ns`, of the finest level that reaches so far
        back from `publish`; else the oldest there is. A dozen rows are read, not the history.
        """
        self._look_at_row_room()
        oldest: RowHead | None = None
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
        history, gap = self._read(publish, names)
        if gap and gap not in self._lasting_gaps:
            # A row that was being written then is there by now: but for all rows anew, those before
            # it would be missed for good.
            self._cut(self._row_room)
            history, gap = self._read(publish, names)
            self._lasting_gaps = {gap}
        if self._look_at_row_room():  # cut anew meanwhile: what was read was something else
            return history, False
        return history, not gap

    def _read(self, publish: int, names: list[str]) -> tuple[History, int]:
        """The history, and the publish before which some are missing, 0 where none are."""
        heads: list[Integers] = []
        values: list[Floats] = []
        gap = 0
        begin = publish + 1  # the first publish that the levels seen so far hold
        for ring in self._rings:
            ring.update(publish)
            rows = ring.rows_before(begin)
            if len(rows):
                if heads and ring.last_publish(rows) + 1 != begin:
                    gap = begin
                begin = ring.first_publish(rows)
                heads.append(rows[:, :HEAD_WORDS].view(np.int64))
                values.append(ring.values(rows)[..., : len(names)])
        if not heads:
            return History(names), 0
        heads, values = heads[::-1], values[::-1]
        return History(names, np.concatenate(heads), values), gap


def _rows_kept(section: Section, num_levels: int) -> int:
    """Rows that are read of a level: all of a page of up to 253 metrics. The coarser levels reach
    further back, so that what is left out is fineness, not the run's beginning.
    """
    num_shares = max(num_levels, HISTORY_LEVELS)
    rows = MAX_HISTORY_BYTES // num_shares // section.record_bytes
    return max(1, min(section.num_records, rows, MAX_HISTORY_ROWS // num_shares))
