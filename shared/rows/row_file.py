"""Every row of a run on disk: `rows.sqlite`, an SQLite database with a write-ahead log; its tables
are in `row_tables.py`.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RowFileError
from ..page.schema import Metric
from . import row_tables
from .row_blob import MAX_BLOB_BYTES, chunk_rows, decoded, encoded, parts
from .rows import RowBatch, joined

_MAX_TAIL_BYTES = 2 * MAX_BLOB_BYTES
# Begins every rollback journal of SQLite, and ends those that name a journal of several databases:
# https://www.sqlite.org/fileformat.html#the_rollback_journal
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


def check_journal(path: Path) -> None:
    """Raises RowFileError where the rollback journal of the database at `path` names a journal of
    several databases: SQLite would delete the file of that name, wherever it is. operant never
    writes such a journal, but a copied run may bring one. OSError where it is a link.
    """
    try:
        fd = os.open(f"{path}-journal", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    with open(fd, "rb") as journal:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise RowFileError(f"{path}-journal: it is no regular file")
        journal.seek(max(0, status.st_size - len(_JOURNAL_MAGIC)))
        if journal.read() == _JOURNAL_MAGIC:
            raise RowFileError(f"{path}-journal: it belongs to several databases; delete it")


class RowFile:
    """The writing end, for one process at a time: the recorder.

    Every method raises RowFileError when the disk does not take it; the file is then as it was.
    """

    def __init__(self, path: Path) -> None:
        """Go on with the file at `path`, or begin one."""
        self.path = path
        with row_tables.errors(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            check_journal(path)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=row_tables.BUSY_S)
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            row_tables.check_version(self._db, path)
            self._db.executescript(row_tables.TABLES)
            row_tables.check_tables(self._db, path)
            self._db.execute(f"PRAGMA application_id = {row_tables.APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {row_tables.VERSION}")
            self._metrics = {metric.name: metric for metric in row_tables.metrics(self._db)}
            self._places = {name: place for place, name in enumerate(self._metrics)}
            self._tail = _tail(self._db)
            self.num_rows = row_tables.num_rows(self._db)
            self.last_publish = row_tables.count(self._db, "last_publish")

    def info(self, key: str) -> Any:
        """What was noted under `key`, None where nothing was."""
        with row_tables.errors(self.path):
            return row_tables.info(self._db, key)

    def count(self, key: str) -> int:
        """The whole number that was noted under `key`, 0 where none was."""
        with row_tables.errors(self.path):
            return row_tables.count(self._db, key)

    def note(self, key: str, value: int | str) -> None:
        """Keep `value` under `key`, if it is not there already."""
        if self.info(key) != value:
            with row_tables.errors(self.path), self._transaction():
                self._note(key, value)

    def append(
        self, batches: Sequence[RowBatch], metrics: Sequence[Metric], **notes: int | str
    ) -> None:
        """Add rows, all of them and `notes` or nothing; their places are those of `metrics`."""
        with row_tables.errors(self.path), self._transaction():
            places = self._known(metrics)
            tail, num_rows, last = list(self._tail), self.num_rows, self.last_publish
            for batch in (part for whole in batches for part in parts(whole)):
                batch = RowBatch(batch.heads, places[batch.places], batch.values)
                self._insert("tail", num_rows + 1, batch)
                num_rows, last = num_rows + len(batch), int(batch.publish[-1])
                tail.append(batch)
                if sum(map(len, tail)) >= chunk_rows(tail):
                    tail = self._pack(tail, num_rows)
            for key, value in {**notes, "last_publish": last}.items():
                self._note(key, value)
        self._tail, self.num_rows, self.last_publish = tail, num_rows, last

    def drop_after(self, publish: int) -> None:
        """Drop the rows above `publish`: a run that goes on from a checkpoint does them again."""
        with row_tables.errors(self.path), self._transaction():
            last_row = self._last_row_up_to(publish)
            for table in ("chunks", "tail"):
                for first_row, count, data in list(row_tables.blobs(self._db, table, last_row + 1)):
                    self._db.execute(f"DELETE FROM {table} WHERE first_row = ?", (first_row,))
                    if first_row <= last_row < first_row + count:
                        part = decoded(data).part(slice(last_row + 1 - first_row))
                        self._insert("tail", first_row, part)
            self._note("last_publish", min(publish, self.last_publish))
            self._note("kept_rows", last_row)
            self._note("epoch", self.count("epoch") + 1)
        self._tail = _tail(self._db)
        self.num_rows = last_row
        self.last_publish = min(publish, self.last_publish)

    def _last_row_up_to(self, publish: int) -> int:
        """The last row before one above `publish`, of those counted from 1 last."""
        counted_from = self.count("counted_from") or 1
        for table in ("chunks", "tail"):
            for first_row, _, data in row_tables.blobs(self._db, table, counted_from):
                numbers = decoded(data).publish
                begin = max(0, counted_from - first_row)
                above = np.flatnonzero(numbers[begin:] > publish)
                if len(above):
                    return int(first_row + begin + above[0] - 1)
        return self.num_rows

    def count_anew(self) -> None:
        """Take publishes from 1 on again: those of a process that knows nothing of a former one."""
        with row_tables.errors(self.path), self._transaction():
            self._note("last_publish", 0)
            self._note("counted_from", self.num_rows + 1)
        self.last_publish = 0

    def close(self) -> None:
        """Leave a single file behind, without a log beside it, where nobody reads it now."""
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA journal_mode = DELETE")
        with suppress(sqlite3.Error):
            self._db.close()

    def _pack(self, tail: list[RowBatch], num_rows: int) -> list[RowBatch]:
        """Make chunks of full length of the tail; returns what is left of it."""
        rows = joined(tail)
        first_row = num_rows - len(rows) + 1
        self._db.execute("DELETE FROM tail")
        size = chunk_rows(tail)
        full = len(rows) // size * size
        for begin in range(0, full, size):
            part = rows.part(slice(begin, begin + size))
            self._insert("chunks", first_row + begin, part)
        if full == len(rows):
            return []
        left = rows.part(slice(full, None))
        self._insert("tail", first_row + full, left)
        return [left]

    def _insert(self, table: str, first_row: int, batch: RowBatch) -> None:
        row = (first_row, len(batch), encoded(batch))
        self._db.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", row)

    def _note(self, key: str, value: int | str) -> None:
        self._db.execute("INSERT OR REPLACE INTO info VALUES (?, ?)", (key, value))

    def _known(self, metrics: Sequence[Metric]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The places that this file has for `metrics`; new ones get theirs."""
        for metric in metrics:
            if self._metrics.get(metric.name) == metric:
                continue
            place = self._places.setdefault(metric.name, len(self._places))
            self._metrics[metric.name] = metric
            row = (
                place,
                metric.name,
                metric.unit,
                metric.kind,
                metric.better,
                metric.level,
                metric.description,
                metric.step_metric,
            )
            self._db.execute("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        return np.array([self._places[metric.name] for metric in metrics], np.int64)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            # A name may have been given a place that is not in the file now.
            self._metrics = {metric.name: metric for metric in row_tables.metrics(self._db)}
            self._places = {name: place for place, name in enumerate(self._metrics)}
            raise


def _tail(db: sqlite3.Connection) -> list[RowBatch]:
    """The rows that are in no chunk yet."""
    batches, size_bytes = [], 0
    for _, _, data in row_tables.blobs(db, "tail", 1):
        batches.append(decoded(data))
        size_bytes += batches[-1].values.nbytes
        if size_bytes > _MAX_TAIL_BYTES:
            raise RowFileError("its tail is longer than any recorder leaves it")
    return batches
