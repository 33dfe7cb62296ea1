"""Reads the rows of a run in order, as far as they have come: of the file that the recorder
keeps, then of the page, for as long as the page has them all.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from ....shared import MetricsReader
from ....shared.page.history import Integers
from ....shared.page.row_ring import publish_of
from ....shared.rows.row_batch import RowBatch, batch_of
from ....shared.rows.row_blob import CHUNK_ROWS
from ....shared.rows.row_file_reader import RowFileReader


class MetricPlaces:
    """A number for each metric by its name, in the order in which they came."""

    def __init__(self) -> None:
        self._by_name: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def of(self, name: str) -> int:
        """That of a metric, new or known."""
        return self._by_name.setdefault(name, len(self._by_name))

    def by_name(self) -> dict[str, int]:
        return dict(self._by_name)

    def of_all(self, names: list[str]) -> Integers:
        return np.array([self.of(name) for name in names], np.int64)


class RowCursor:
    """Goes through the rows from one on, as often as it is asked for those that came since.

    A row has the number that the file gives it or will give it; without a file its publish.
    """

    def __init__(
        self,
        file: RowFileReader | None,
        page: MetricsReader,
        places: MetricPlaces,
        first_row: int = 1,
    ) -> None:
        self._file, self._page, self._all_places = file, page, places
        self._next_row = first_row
        self._position = 0
        self._end = (0, 0)  # rows in the file when the page's were begun with, their last publish
        self._is_in_page = False
        self._last = 0  # publish of the newest row that was read of the page
        self._file_places = np.zeros(0, np.int64)

    def __iter__(self) -> Generator[tuple[Integers, RowBatch]]:
        """The numbers of rows and the rows, whose places are those of `places`; whoever stops in
        between goes on there the next time. Raises PageError.
        """
        if not self._is_in_page:
            yield from self._rows_of_file()
        records = self._new_records()
        if self._file and records and publish_of(records[0]) > self._last + 1:
            # The page has overwritten what was not read yet: the recorder may have taken it.
            self._is_in_page = False
            yield from self._rows_of_file()
            records = self._new_records()
        yield from self._rows_of_page(records)

    def _rows_of_file(self) -> Iterator[tuple[Integers, RowBatch]]:
        while self._file:
            for batch in self._file.batches(self._next_row):
                numbers = np.arange(self._next_row, self._next_row + len(batch))
                is_new = np.ones(len(batch), np.bool_)
                if self._last:  # read of the page before
                    is_new = batch.publish > self._last
                self._next_row += len(batch)
                if is_new.any():
                    yield numbers[is_new], self._placed(batch.part(is_new))
            self._end = self._file.end()
            if self._next_row > self._end[0]:
                break
        if self._file and self._file.info("page") not in (None, str(self._page.header.identity)):
            return  # rows of another process: which of them hold, the recorder decides
        self._is_in_page = True
        self._last = max(self._last, self._end[1])

    def _new_records(self) -> list[bytes]:
        if not self._is_in_page:
            return []
        ring = self._page.rows(self._position)
        records = [record for record in ring.records if publish_of(record) > self._last]
        if not records:
            self._position = ring.position
        return records

    def _rows_of_page(self, records: list[bytes]) -> Iterator[tuple[Integers, RowBatch]]:
        num_rows, publish = self._end
        places = self._all_places.of_all([metric.name for metric in self._page.schema()])
        for begin in range(0, len(records), CHUNK_ROWS):
            batch = batch_of(records[begin : begin + CHUNK_ROWS])
            self._last = int(batch.publish[-1])
            known = batch.places < len(places)
            batch = RowBatch(batch.heads, places[batch.places[known]], batch.values[known])
            yield num_rows + batch.publish - publish, batch

    def _placed(self, batch: RowBatch) -> RowBatch:
        assert self._file
        if len(batch.places) and batch.places.max() >= len(self._file_places):
            names = [metric.name for metric in self._file.metrics()]
            self._file_places = self._all_places.of_all(names)
        known = batch.places < len(self._file_places)
        places = self._file_places[batch.places[known]]
        return RowBatch(batch.heads, places, batch.values[known])
