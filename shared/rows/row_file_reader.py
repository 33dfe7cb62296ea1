"""The reading end of `rows.sqlite`, see `row_file.py`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import RowFileError
from ..page.schema import Metric
from . import row_tables
from .row_batch import NO_ROWS, RowBatch
from .row_blob import decoded
from .row_tables import LOST_EVENTS


class RowFileReader:
    """The reading end, for any number of processes, also while rows are being added."""

    def __init__(self, path: Path) -> None:
        """Raises RowFileError when there is no such file, or another one."""
        self.path = path
        with row_tables.errors(path):
            if path.is_symlink() or not path.is_file():
                raise RowFileError(f"{path}: there is no such file")
            address = f"{path.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(address, uri=True, timeout=row_tables.BUSY_S)
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute("PRAGMA query_only = ON")
            row_tables.check_version(self._db, path)
            row_tables.check_tables(self._db, path)

    def close(self) -> None:
        self._db.close()

    def metrics(self) -> list[Metric]:
        """In the order of their places."""
        with row_tables.errors(self.path):
            return row_tables.metrics(self._db)

    def info(self, key: str) -> Any:
        with row_tables.errors(self.path):
            return row_tables.info(self._db, key)

    def count(self, key: str) -> int:
        """The whole number that was noted under `key`, 0 where none was."""
        with row_tables.errors(self.path):
            return row_tables.count(self._db, key)

    def num_rows(self) -> int:
        with row_tables.errors(self.path):
            return row_tables.num_rows(self._db)

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Open a read transaction: all reads inside see the file as the first did."""
        with row_tables.errors(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")

    def row_up_to(self, publish: int) -> int:
        """The last row up to `publish`, of those that the newest process of the run counted."""
        with row_tables.errors(self.path):
            return row_tables.row_up_to(self._db, publish)

    def rows(self, level: int, first_row: int, last_row: int) -> list[RowBatch]:
        """The rows of one level from `first_row` to `last_row`, oldest first."""
        with row_tables.errors(self.path):
            return row_tables.read_rows(self._db, level, first_row, last_row)

    def blobs(self, level: int, first_row: int, last_row: int) -> Iterator[tuple[int, bytes]]:
        """Yield the first row's number and the stored bytes of each batch in the range."""
        with row_tables.errors(self.path):
            for first, _, data in row_tables.blobs(self._db, level, first_row, last_row):
                yield first, data

    def last_publish(self) -> int:
        """The newest publish of the page that the rows were taken of last."""
        return self.count("last_publish")

    def num_lost(self) -> int:
        """Rows that were overwritten in the page before anyone took them."""
        return self.count("num_lost")

    def batches(self, first_row: int = 1) -> Iterator[RowBatch]:
        """All rows of level 0 from `first_row` on, oldest first, some at a time, as they are at one
        moment.
        """
        with self.one_moment():
            last_row = row_tables.num_rows(self._db)
            while first_row <= last_row:
                found = row_tables.blobs(self._db, 0, first_row, first_row)
                first, num_rows, data = next(found, (0, 0, b""))
                batch = decoded(data) if data else NO_ROWS
                # Whoever counts rows would look for those that are not there for ever.
                if len(batch) != num_rows or not first <= first_row < first + num_rows:
                    raise RowFileError(f"{self.path}: row {first_row} is missing")
                yield batch.part(slice(first_row - first, None))
                first_row = first + num_rows


def num_lost(path: Path) -> tuple[int, int]:
    """Rows and messages that were lost; none if the file is missing or cannot be read."""
    with suppress(RowFileError):
        reader = RowFileReader(path)
        try:
            return reader.num_lost(), reader.count(LOST_EVENTS)
        finally:
            reader.close()
    return 0, 0
