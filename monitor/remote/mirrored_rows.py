"""The rows of a run on another machine: as `rows.sqlite` in its mirror."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ...shared.page.layout import MAX_METRICS
from ...shared.page.schema import Metric
from ...shared.rows import row_tables
from ...shared.rows.levels import NUM_LEVELS
from ...shared.rows.row_blob import decoded
from ...shared.rows.row_file import RowFile
from .frames import MAX_ROWS_BYTES, StreamError
from .sent_rows import most_rows

_TRIM_EVERY = 256  # times that rows were added
_OF_METRICS = TypeAdapter(Annotated[list[Metric], Field(max_length=MAX_METRICS)])


class MirroredRows(RowFile):
    """The newest rows of each level of the run's own file, and all rows that came since. `begin`,
    `take` for each blob and `commit` replace what was there, at once for those who read it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._schema: list[Metric] = []  # of the page
        self._is_beginning = False
        self._num_added = 0
        self._db.execute("PRAGMA synchronous = OFF")  # nothing of it is needed after a power cut
        most = MAX_ROWS_BYTES // int(self._db.execute("PRAGMA page_size").fetchone()[0])
        self._db.execute(f"PRAGMA max_page_count = {most}")

    def take(self, part: str, level: int, first_row: int, data: bytes) -> None:
        """Write a piece of the file. Raises StreamError or RowFileError where it does not hold."""
        with row_tables.errors(self.path):
            if part == "begin":
                self._begin_anew(_metrics_in(data))
            elif part == "blob" and self._is_beginning:
                self._take_blob(level, first_row, data)
            elif part == "schema":
                self._schema = _metrics_in(data)
                if self._is_beginning:
                    self._commit(json.loads(data))
            elif part == "rows" and not self._is_beginning:
                self.append([decoded(data)], self._schema)
                self._num_added += 1
                if self._num_added % _TRIM_EVERY == 0:
                    self._trim()
            else:
                raise StreamError("the stream's rows are damaged")

    def _begin_anew(self, metrics: Sequence[Metric]) -> None:
        if self._is_beginning:
            self._db.execute("ROLLBACK")
        self._db.execute("BEGIN IMMEDIATE")
        self._is_beginning = True
        for table in ("rows", "metrics"):
            self._db.execute(f"DELETE FROM {table}")
        self._metrics, self._places = {}, {}
        self._known(metrics)

    def _take_blob(self, level: int, first_row: int, data: bytes) -> None:
        batch = decoded(data)
        if not (0 <= level < NUM_LEVELS and 1 <= first_row < 1 << 62 and len(batch)):
            raise StreamError("the stream's rows are damaged")
        row = level, first_row, len(batch), int(batch.publish[-1]), data
        self._db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)", row)

    def _commit(self, notes: dict[str, Any]) -> None:
        for key in ("page", "last_publish", "num_lost"):
            if key not in notes:
                raise StreamError("the stream's rows are damaged")
            self._note(key, notes[key])
        self._note("epoch", self.count("epoch") + 1)
        self._is_beginning = False
        self._db.execute("COMMIT")
        self._begin()

    def _trim(self) -> None:
        """Drop the oldest rows of a level that has far more than is shown of it."""
        most = 2 * most_rows(len(self._metrics))
        for level, tail in enumerate(self._tails):
            where = "level = ? AND first_row + num_rows <= ?"
            last = min(tail.last_row - most, tail.first_row - 1)
            self._db.execute(f"DELETE FROM rows WHERE {where}", (level, last))

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # of a beginning that did not come to its end
            self._db.execute("ROLLBACK")
        super().close()


def _metrics_in(data: bytes) -> list[Metric]:
    try:
        metrics = _OF_METRICS.validate_python(json.loads(data)["metrics"])
    except (ValidationError, ValueError, KeyError, TypeError, RecursionError):
        raise StreamError("the stream's metrics are damaged") from None
    return metrics
