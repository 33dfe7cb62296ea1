"""Every row of a run on disk, and the levels that rows are folded into: `rows.sqlite`, an SQLite
database with a write-ahead log. Its tables are in `row_tables.py`.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import RowFileError
from ..page.schema import Metric
from . import row_tables
from .levels import FOLD, NUM_LEVELS, folded_up
from .row_batch import RowBatch, joined
from .row_blob import CHUNK_BYTES, CHUNK_ROWS, decoded, encoded, parts

_MOST_BLOBS = 64  # in a tail: rows are written as they come, and few at a time
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


class _Tail(NamedTuple):
    """The newest rows of a level, in blobs that are not of full length yet: rows `first_row` to
    `last_row`, none where there are no blobs.
    """

    first_row: int
    last_row: int
    num_blobs: int = 0
    num_bytes: int = 0

    @property
    def is_long(self) -> bool:
        num_rows = self.last_row - self.first_row + 1
        is_full = num_rows >= CHUNK_ROWS or self.num_bytes >= CHUNK_BYTES
        return is_full or self.num_blobs >= _MOST_BLOBS

    def with_blob(self, num_rows: int, num_bytes: int) -> _Tail:
        last_row = self.last_row + num_rows
        return _Tail(self.first_row, last_row, self.num_blobs + 1, self.num_bytes + num_bytes)


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
            self._begin()

    def _begin(self) -> None:
        """Go on with what is in the file."""
        self._metrics = {metric.name: metric for metric in row_tables.metrics(self._db)}
        self._places = {name: place for place, name in enumerate(self._metrics)}
        self.last_publish = row_tables.count(self._db, "last_publish")
        counts = [row_tables.num_rows(self._db, level) for level in range(NUM_LEVELS)]
        if any(not 0 <= below - FOLD * n < FOLD for below, n in itertools.pairwise(counts)):
            raise ValueError("its levels are damaged")
        self._tails = [_Tail(count + 1, count) for count in counts]
        self._left = tuple(
            joined(row_tables.read_rows(self._db, level, FOLD * counts[level + 1] + 1, count))
            for level, count in enumerate(counts[:-1])
        )

    @property
    def num_rows(self) -> int:
        return self._tails[0].last_row

    def info(self, key: str) -> Any:
        """The value noted under `key`, None if there is none."""
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
            for batch in (part for whole in batches for part in parts(whole)):
                batch = RowBatch(batch.heads, places[batch.places], batch.values)
                new, self._left = folded_up(batch, self._left)
                for level, rows in enumerate(new):
                    self._add(level, rows)
                self.last_publish = int(batch.publish[-1])
            for key, value in {**notes, "last_publish": self.last_publish}.items():
                self._note(key, value)

    def drop_after(self, publish: int) -> None:
        """Drop the rows above `publish`: a run that goes on from a checkpoint does them again."""
        with row_tables.errors(self.path), self._transaction():
            num_rows = row_tables.row_up_to(self._db, publish)
            self._note("last_publish", min(publish, self.last_publish))
            self._note("kept_rows", num_rows)
            self._note("epoch", self.count("epoch") + 1)
            for level in range(NUM_LEVELS):
                cut = next(row_tables.blobs(self._db, level, num_rows + 1), None)
                where = "level = ? AND first_row + num_rows > ?"
                self._db.execute(f"DELETE FROM rows WHERE {where}", (level, num_rows + 1))
                if cut and cut[0] <= num_rows:
                    self._insert(level, cut[0], decoded(cut[2]).part(slice(num_rows + 1 - cut[0])))
                num_rows //= FOLD
            self._begin()

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

    def _add(self, level: int, rows: RowBatch) -> None:
        """Put rows behind those of their level; a long tail becomes chunks of full length."""
        tail = self._tails[level]
        self._insert(level, tail.last_row + 1, rows)
        tail = tail.with_blob(len(rows), rows.values.nbytes)
        if tail.is_long:
            batches = row_tables.read_rows(self._db, level, tail.first_row, tail.last_row)
            where = "level = ? AND first_row >= ?"
            self._db.execute(f"DELETE FROM rows WHERE {where}", (level, tail.first_row))
            first_row, last_row = tail.first_row, tail.last_row
            for chunk in parts(joined(batches)):
                self._insert(level, first_row, chunk)
                tail = _Tail(first_row, first_row - 1).with_blob(len(chunk), chunk.values.nbytes)
                first_row += len(chunk)
            if tail.is_long:
                tail = _Tail(last_row + 1, last_row)
        self._tails[level] = tail

    def _insert(self, level: int, first_row: int, batch: RowBatch) -> None:
        row = (level, first_row, len(batch), int(batch.publish[-1]), encoded(batch))
        self._db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", row)

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
            # What was counted and named meanwhile is not in the file.
            with suppress(sqlite3.Error, RowFileError, ValueError):
                self._begin()
            raise
