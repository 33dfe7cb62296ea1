"""Every row of a run: from its page to its file on disk, and from there to the sinks.

Each row is written once, in order, with its own step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ...shared.page.row_ring import publish_of
from ...shared.rows.row_batch import batch_of
from ...shared.rows.row_blob import CHUNK_ROWS
from ...shared.rows.row_file import RowFile
from ...shared.rows.row_tables import LOST_EVENTS
from ...shared.runs.run_folder import Run
from .page_watch import Page
from .rows import Row, row_of

LAST_EVENT = "last_event"


class RowDrain:
    """Remembers how far one page was read. Raises errors of pages and of disks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: RowFile | None = None
        self._page: Page | None = None
        self._position = 0
        self._is_begun = False

    def begin(self, page: Page) -> None:
        """Continue with `page`."""
        self._page = page
        self._position, self._is_begun = 0, False

    def _settle(self, page: Page) -> None:
        """Drop rows that a new process publishes again. If it counts from 1 again, append its rows
        after all others.
        """
        file, identity = self._opened(), str(page.reader.header.identity)
        known = file.info("page")
        if known is not None and known != identity and page.after_publish is not None:
            if page.after_publish:
                file.drop_after(page.after_publish)
            elif file.last_publish:
                file.count_anew()
        file.note("page", identity)
        self._is_begun = True

    def is_due(self) -> bool:
        """Whether so many rows wait that the writer might overwrite them soon."""
        if self._page is None:
            return False
        reader = self._page.reader
        ring_bytes = reader.header.layout["ROWS"].size_bytes
        return reader.num_new_row_bytes(self._position) > ring_bytes // 8

    def take(self, notes: Mapping[str, str | int] = {}) -> int:
        """Append the rows that the file does not have, and `notes`; return the number of rows."""
        if self._page is None:
            return 0
        last, reader = self.last_publish(), self._page.reader
        file, ring = self._opened(), reader.rows(self._position)
        records = [record for record in ring.records if publish_of(record) > last]
        if records:
            num_lost = publish_of(records[-1]) - last - len(records) + file.count("num_lost")
            file.append(
                [batch_of(piece) for piece in _pieces(records)],
                reader.schema(),
                num_lost=num_lost,
                **notes,
            )
        self._position = ring.position
        return len(records)

    def last_publish(self) -> int:
        """The publish of this page up to which the file has the rows."""
        if self._page and not self._is_begun:
            self._settle(self._page)
        return self._opened().last_publish

    def note(self, notes: Mapping[str, str | int]) -> None:
        """Save `notes` in the file."""
        for key, value in notes.items():
            self._opened().note(key, value)

    def num_lost_events(self, numbers: Sequence[int]) -> int:
        """How many messages were overwritten before those with these numbers, which are kept now.
        The number is added to the count in the file.
        """
        if self._page is None or not numbers:
            return 0
        file = self._opened()
        last = file.count(LAST_EVENT)
        if last > numbers[-1]:  # the numbers are those of a lost page
            last = 0
        num_lost = max(0, numbers[0] - last - 1)
        if num_lost:
            file.note(LOST_EVENTS, num_lost + file.count(LOST_EVENTS))
        file.note(LAST_EVENT, numbers[-1])
        return num_lost

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _opened(self) -> RowFile:
        if self._file is None:
            self._file = RowFile(self._path)
        return self._file


def _pieces(records: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [records[at : at + CHUNK_ROWS] for at in range(0, len(records), CHUNK_ROWS)]


TAKEN_EVERY_S = 1.0  # at least; sooner when much waits


class RowTaker(Protocol):
    """Where rows go beside the file."""

    def rows_came(self, path: Path, newest: Row) -> None: ...

    def notes(self) -> dict[str, str]: ...


class EveryRow:
    """Takes rows when they are due, and has their file keep how far each sink is. Errors are those
    of pages and of disks.
    """

    def __init__(self, run: Run, sinks: Sequence[RowTaker], now: Callable[[], float]) -> None:
        self._path, self._sinks, self._now = run.rows_path, sinks, now
        self._drain = RowDrain(self._path)
        self._page: Page | None = None
        self._taken_s = float("-inf")
        self._are_sinks_notified = False  # whether sinks have the rows of a former recorder

    def begin(self, page: Page) -> None:
        """Go on with `page`."""
        self._page = page
        self._drain.begin(page)
        self._taken_s = float("-inf")

    def is_due(self) -> bool:
        return self._now() - self._taken_s >= TAKEN_EVERY_S or self._drain.is_due()

    def take_all(self) -> None:
        while self.take():
            pass

    def take(self) -> int:
        """Append the rows that came, and let the sinks know; return the number of rows."""
        self._taken_s = self._now()
        num_rows = self._drain.take(self._notes())
        are_due = self._sinks and (num_rows or not self._are_sinks_notified)
        if are_due and self._page and (newest := self._page.reader.read()):
            self._are_sinks_notified = True
            for sink in self._sinks:
                sink.rows_came(self._path, row_of(newest))
        return num_rows

    def last_publish(self) -> int:
        """The publish of this page up to which the file has the rows."""
        return self._drain.last_publish()

    def num_lost_events(self, numbers: Sequence[int]) -> int:
        """How many messages were overwritten before those with these numbers, which are kept."""
        return self._drain.num_lost_events(numbers)

    def note_sent(self) -> None:
        """Keep for the next recorder how far the sinks are."""
        if notes := self._notes():
            self._drain.note(notes)

    def close(self) -> None:
        self._drain.close()

    def _notes(self) -> Mapping[str, str]:
        return {key: text for sink in self._sinks for key, text in sink.notes().items()}
