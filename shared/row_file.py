"""Every row of a run on disk: `rows.sqlite`, an SQLite database with a write-ahead log.

    info     key, value: what the recorder must know again when it begins anew
    metrics  place, name, unit, kind, better, level, description, step_metric
    tail     first_row, num_rows, data: the newest rows, a batch for each time they were taken
    chunks   first_row, num_rows, data: 1024 rows each, or 4 MiB, made from the tail

Rows are counted from 1. `data` is a `RowBatch` by columns, compressed; what a process that was
killed left half written, SQLite leaves out.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .errors import PageError
from .layout import MAX_METRICS
from .rows import HEADS, RowBatch, joined
from .schema import BETTER, KINDS, Metric

CHUNK_ROWS = 1024
APPLICATION_ID = 0x4F505254  # "OPRT"
VERSION = 1
LOST_EVENTS = "num_lost_events"  # a key of info
_BUSY_S = 5.0
_BLOB = struct.Struct("<III")  # rows, columns, bytes of what follows before it was compressed
_CHUNK_BYTES = 4 << 20  # before it is compressed
# What a reader goes along with: a tail may be a chunk, and as much again.
_MAX_BLOB_BYTES = 3 * _CHUNK_BYTES
_MAX_TAIL_BYTES = 2 * _MAX_BLOB_BYTES

_TABLES = """
CREATE TABLE IF NOT EXISTS info (key TEXT PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS metrics (
    place INTEGER PRIMARY KEY, name TEXT UNIQUE, unit TEXT, kind TEXT, better TEXT, level INTEGER,
    description TEXT, step_metric TEXT);
CREATE TABLE IF NOT EXISTS tail (first_row INTEGER PRIMARY KEY, num_rows INTEGER, data BLOB);
CREATE TABLE IF NOT EXISTS chunks (first_row INTEGER PRIMARY KEY, num_rows INTEGER, data BLOB);
"""


class RowFileError(PageError):
    """A file of rows cannot be read or written."""


class RowFile:
    """The writing end, for one process at a time: the recorder.

    Every method raises RowFileError when the disk does not take it; the file is then as it was.
    """

    def __init__(self, path: Path) -> None:
        """Go on with the file at `path`, or begin one."""
        self.path = path
        with _errors(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            self._db = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            _check_version(self._db, path)
            self._db.executescript(_TABLES)
            _check_tables(self._db, path)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {VERSION}")
            self._metrics = {metric.name: metric for metric in _metrics(self._db)}
            self._places = {name: place for place, name in enumerate(self._metrics)}
            self._tail = _tail(self._db)
            self.num_rows = _num_rows(self._db)
            self.last_publish = _count(self._db, "last_publish")

    def info(self, key: str) -> Any:
        """What was noted under `key`, None where nothing was."""
        with _errors(self.path):
            return _info(self._db, key)

    def count(self, key: str) -> int:
        """The whole number that was noted under `key`, 0 where none was."""
        with _errors(self.path):
            return _count(self._db, key)

    def note(self, key: str, value: int | str) -> None:
        """Keep `value` under `key`, if it is not there already."""
        if self.info(key) != value:
            with _errors(self.path), self._transaction():
                self._note(key, value)

    def append(
        self, batches: Sequence[RowBatch], metrics: Sequence[Metric], **notes: int | str
    ) -> None:
        """Add rows, all of them and `notes` or nothing; their places are those of `metrics`."""
        with _errors(self.path), self._transaction():
            places = self._known(metrics)
            tail, num_rows, last = list(self._tail), self.num_rows, self.last_publish
            for batch in (part for whole in batches for part in _parts(whole)):
                batch = RowBatch(batch.heads, places[batch.places], batch.values)
                self._insert("tail", num_rows + 1, batch)
                num_rows, last = num_rows + len(batch), int(batch.publish[-1])
                tail.append(batch)
                if sum(map(len, tail)) >= _chunk_rows(tail):
                    tail = self._pack(tail, num_rows)
            for key, value in {**notes, "last_publish": last}.items():
                self._note(key, value)
        self._tail, self.num_rows, self.last_publish = tail, num_rows, last

    def drop_after(self, publish: int) -> None:
        """Drop the rows above `publish`: a run that goes on from a checkpoint does them again."""
        with _errors(self.path), self._transaction():
            last_row = self._last_row_up_to(publish)
            for table in ("chunks", "tail"):
                for first_row, count, data in list(_blobs(self._db, table, last_row + 1)):
                    self._db.execute(f"DELETE FROM {table} WHERE first_row = ?", (first_row,))
                    if first_row <= last_row < first_row + count:
                        part = _decoded(data).part(slice(last_row + 1 - first_row))
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
            for first_row, _, data in _blobs(self._db, table, counted_from):
                numbers = _decoded(data).publish
                begin = max(0, counted_from - first_row)
                above = np.flatnonzero(numbers[begin:] > publish)
                if len(above):
                    return int(first_row + begin + above[0] - 1)
        return self.num_rows

    def count_anew(self) -> None:
        """Take publishes from 1 on again: those of a process that knows nothing of a former one."""
        with _errors(self.path), self._transaction():
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
        size = _chunk_rows(tail)
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
        row = (first_row, len(batch), _encoded(batch))
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
                place, metric.name, metric.unit, metric.kind, metric.better, metric.level,
                metric.description, metric.step_metric,
            )  # fmt: skip
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
            self._metrics = {metric.name: metric for metric in _metrics(self._db)}
            self._places = {name: place for place, name in enumerate(self._metrics)}
            raise


class RowFileReader:
    """The reading end, for any number of processes, also while rows are being added."""

    def __init__(self, path: Path) -> None:
        """Raises RowFileError when there is no such file, or another one."""
        self.path = path
        with _errors(path):
            if not path.is_file():
                raise RowFileError(f"{path}: there is no such file")
            address = f"{path.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(address, uri=True, timeout=_BUSY_S)
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute("PRAGMA query_only = ON")
            _check_version(self._db, path)
            _check_tables(self._db, path)

    def close(self) -> None:
        self._db.close()

    def metrics(self) -> list[Metric]:
        """In the order of their places."""
        with _errors(self.path):
            return _metrics(self._db)

    def info(self, key: str) -> Any:
        with _errors(self.path):
            return _info(self._db, key)

    def count(self, key: str) -> int:
        """The whole number that was noted under `key`, 0 where none was."""
        with _errors(self.path):
            return _count(self._db, key)

    def num_rows(self) -> int:
        with _errors(self.path):
            return _num_rows(self._db)

    def end(self) -> tuple[int, int]:
        """How many rows there are, and the publish of the newest of its page, at one moment."""
        with _errors(self.path):
            self._db.execute("BEGIN")
            try:
                return _num_rows(self._db), _count(self._db, "last_publish")
            finally:
                self._db.execute("ROLLBACK")

    def num_lost(self) -> int:
        """Rows that were overwritten in the page before anyone took them."""
        return self.count("num_lost")

    def batches(self, first_row: int = 1) -> Iterator[RowBatch]:
        """All rows from `first_row` on, oldest first, some at a time, as they are at one moment."""
        with _errors(self.path):
            self._db.execute("BEGIN")
            try:
                next_row = first_row
                for table in ("chunks", "tail"):
                    for first, num_rows, data in _blobs(self._db, table, first_row):
                        batch = _decoded(data)
                        # Whoever counts rows would look for those that are not there for ever.
                        if len(batch) != num_rows or not first <= next_row < first + num_rows:
                            raise RowFileError(f"{self.path}: row {next_row} is missing")
                        yield batch.part(slice(next_row - first, None))
                        next_row = first + num_rows
            finally:
                self._db.execute("ROLLBACK")


def num_lost(paths: Iterable[Path]) -> tuple[int, int]:
    """Rows and messages that were lost, in all of these files that there are and can be read."""
    num_rows = num_events = 0
    for path in paths:
        with suppress(RowFileError):
            reader = RowFileReader(path)
            try:
                num_rows += reader.num_lost()
                num_events += reader.count(LOST_EVENTS)
            finally:
                reader.close()
    return num_rows, num_events


def _info(db: sqlite3.Connection, key: str) -> Any:
    """Not by the index, which would have a key of any length in memory."""
    found = db.execute("SELECT value FROM info NOT INDEXED WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def _count(db: sqlite3.Connection, key: str) -> int:
    """The whole number under `key`; 0 where none was noted. Raises ValueError for anything else."""
    return int(_info(db, key) or 0)


def _blobs(db: sqlite3.Connection, table: str, first_row: int) -> Iterator[tuple[int, int, bytes]]:
    """From the one that holds `first_row` on, found by its key."""
    begin = f"SELECT max(first_row) FROM {table} WHERE first_row <= ?"
    question = f"SELECT first_row, num_rows, data FROM {table} WHERE first_row >= "
    question += f"coalesce(({begin}), 0) AND first_row + num_rows > ? ORDER BY first_row"
    yield from db.execute(question, (first_row, first_row))


def _num_rows(db: sqlite3.Connection) -> int:
    question = "SELECT coalesce(max(first_row + num_rows - 1), 0) FROM "
    return max(int(db.execute(question + table).fetchone()[0]) for table in ("chunks", "tail"))


def _metrics(db: sqlite3.Connection) -> list[Metric]:
    columns = "name, unit, kind, better, level, description, step_metric"
    rows = db.execute(f"SELECT {columns} FROM metrics ORDER BY place LIMIT {MAX_METRICS}")
    return [
        Metric(
            str(name),
            str(unit),
            kind if kind in KINDS else "gauge",
            better if better in BETTER else "none",
            int(level),
            str(description),
            str(step_metric),
        )
        for name, unit, kind, better, level, description, step_metric in rows
    ]


def _check_version(db: sqlite3.Connection, path: Path) -> None:
    application_id = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application_id not in (0, APPLICATION_ID):
        raise RowFileError(f"{path}: not a file of rows")
    if version > VERSION:
        raise RowFileError(f"{path}: version {version} is newer than this operant reads; update it")


def _check_tables(db: sqlite3.Connection, path: Path) -> None:
    """A file is bytes that anyone may write: no views, no computed columns, no endless values."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_BLOB_BYTES + _CHUNK_BYTES)
    question = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
    blank = sqlite3.connect(":memory:")
    try:
        blank.executescript(_TABLES)
        for (name,) in blank.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            found, expected = (one.execute(question, (name,)).fetchone() for one in (db, blank))
            if found != expected:
                raise RowFileError(f"{path}: not a file of rows")
    finally:
        blank.close()


def _tail(db: sqlite3.Connection) -> list[RowBatch]:
    """The rows that are in no chunk yet."""
    batches, size_bytes = [], 0
    for _, _, data in _blobs(db, "tail", 1):
        batches.append(_decoded(data))
        size_bytes += batches[-1].values.nbytes
        if size_bytes > _MAX_TAIL_BYTES:
            raise RowFileError("its tail is longer than any recorder leaves it")
    return batches


def _parts(batch: RowBatch) -> Iterator[RowBatch]:
    size = _chunk_rows([batch])
    for begin in range(0, len(batch), size):
        yield batch.part(slice(begin, begin + size))


def _chunk_rows(batches: Sequence[RowBatch]) -> int:
    """How many rows with all metrics of these make a chunk."""
    columns = len(np.unique(np.concatenate([batch.places for batch in batches])))
    return min(CHUNK_ROWS, max(1, _CHUNK_BYTES // (8 * (HEADS + columns))))


def _encoded(batch: RowBatch) -> bytes:
    """Numbers by columns: of the heads the differences, of all of them byte by byte, which makes
    slow change compress well.
    """
    heads = batch.heads.copy()
    heads[:, 1:] = np.diff(batch.heads, axis=1)
    numbers = np.concatenate([heads.view(np.uint64), batch.values.view(np.uint64)])
    planes = np.ascontiguousarray(numbers.reshape(-1)[:, None].view(np.uint8).T)
    data = batch.places.astype("<u2").tobytes() + planes.tobytes()
    return _BLOB.pack(len(batch), len(batch.places), len(data)) + zlib.compress(data, 1)


def _decoded(blob: bytes) -> RowBatch:
    """Raises RowFileError when it is no batch: a file is bytes that anyone may write."""
    try:
        num_rows, columns, size_bytes = _BLOB.unpack_from(blob)
        if size_bytes > _MAX_BLOB_BYTES or size_bytes != 2 * columns + 8 * num_rows * (
            HEADS + columns
        ):
            raise ValueError("its sizes do not fit together")
        data = zlib.decompressobj().decompress(blob[_BLOB.size :], size_bytes)
        places = np.frombuffer(data, "<u2", columns).astype(np.int64)
        planes = np.frombuffer(data, np.uint8, offset=2 * columns).reshape(8, -1)
        numbers = np.ascontiguousarray(planes.T).view(np.uint64).reshape(HEADS + columns, num_rows)
        heads = np.cumsum(numbers[:HEADS].view(np.int64), axis=1)
        return RowBatch(heads, places, numbers[HEADS:].view(np.float64))
    except (ValueError, TypeError, struct.error, zlib.error) as error:
        raise RowFileError(f"a batch of rows is damaged: {error}") from None


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise RowFileError(f"{path}: takes more memory than there is") from None
    except (ValueError, TypeError, OverflowError) as error:  # a number that is none
        raise RowFileError(f"{path}: {error}") from None
    except sqlite3.Error as error:
        raise RowFileError(f"{path}: {_no_space(path) or error}") from None
    except OSError as error:
        raise RowFileError(f"{path}: {error.strerror or error}") from None


def _no_space(path: Path) -> str:
    """What SQLite tells in several ways, as the system would."""
    try:
        is_full = os.statvfs(path.parent).f_bavail == 0
    except OSError:
        is_full = False
    return os.strerror(errno.ENOSPC) if is_full else ""
