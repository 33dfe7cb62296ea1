"""Takes the rows of one rank's page to its file on disk: each once, in order, with its own step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...shared.row_blob import CHUNK_ROWS
from ...shared.row_file import RowFile
from ...shared.row_ring import publish_of
from ...shared.row_tables import LOST_EVENTS
from ...shared.rows import batch_of
from .page_watch import Page

LAST_EVENT = "last_event"


class RowDrain:
    """Remembers how far one page was taken. Errors are those of pages and of disks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: RowFile | None = None
        self._page: Page | None = None
        self._position = 0
        self._is_begun = False

    def begin(self, page: Page) -> None:
        """Go on with `page`; pages of layout 1 have no such rows."""
        self._page = page if "ROWS" in page.reader.header.layout.sections else None
        self._position, self._is_begun = 0, False

    def _settle(self, page: Page) -> None:
        """What the process of a new page does again of a former one's rows is dropped, and where it
        counts from 1 anew, its rows follow all there are.
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
        """Whether so much waits that the writer might overwrite it soon."""
        if self._page is None:
            return False
        reader = self._page.reader
        ring_bytes = reader.header.layout["ROWS"].size_bytes
        return reader.num_new_row_bytes(self._position) > ring_bytes // 8

    @property
    def has_rows(self) -> bool:
        """Whether the page has single rows to take."""
        return self._page is not None

    def take(self, notes: Mapping[str, str | int] = {}) -> int:
        """Append the rows that the file has not, and `notes` with them; how many those were."""
        if self._page is None:
            return 0
        if not self._is_begun:
            self._settle(self._page)
        reader = self._page.reader
        file, ring = self._opened(), reader.rows(self._position)
        last = file.last_publish
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

    def has_all(self, publish: int) -> bool:
        """Whether the file has the rows up to this publish of the page."""
        return self._is_begun and self._opened().last_publish == publish

    def note(self, notes: Mapping[str, str | int]) -> None:
        """Have the file keep these."""
        for key, value in notes.items():
            self._opened().note(key, value)

    def num_lost_events(self, numbers: Sequence[int]) -> int:
        """How many messages were overwritten before those with these numbers, which are kept now;
        they are added to those that the file counts. None are known of on pages of layout 1.
        """
        if self._page is None or not numbers:
            return 0
        file = self._opened()
        last = file.count(LAST_EVENT)
        if last > numbers[-1]:  # of a page that was lost
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
