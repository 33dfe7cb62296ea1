"""The tables of a file of rows, and what may be in them.

    info     key, value: what the recorder must know again when it begins anew
    metrics  place, name, unit, kind, better, level, description, step_metric
    rows     level, first_row, num_rows, last_publish, data: consecutive rows of one level

Rows of each level are counted from 1: row r of level k is folded from the rows 8^k * (r - 1) + 1 to
8^k * r of level 0 (`levels.py`). `data` is a batch as `row_blob.py` makes it: the newest rows as
they came, older ones by 1024, or by 4 MiB. SQLite drops what a killed process left half written.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RowFileError, made_by
from ..page.layout import MAX_METRICS
from ..page.schema import BETTER, KINDS, Metric
from ..text.harmless import harmless
from .row_batch import RowBatch
from .row_blob import CHUNK_BYTES, MAX_BLOB_BYTES, decoded

APPLICATION_ID = 0x4F505254  # "OPRT"
VERSION = 2
BUSY_S = 5.0
LOST_EVENTS = "num_lost_events"  # a key of info

TABLES = """
CREATE TABLE IF NOT EXISTS info (key TEXT PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS metrics (
    place INTEGER PRIMARY KEY, name TEXT UNIQUE, unit TEXT, kind TEXT, better TEXT, level INTEGER,
    description TEXT, step_metric TEXT);
CREATE TABLE IF NOT EXISTS rows (
    level INTEGER, first_row INTEGER, num_rows INTEGER, last_publish INTEGER, data BLOB,
    PRIMARY KEY (level, first_row, num_rows, last_publish));
"""


def info(db: sqlite3.Connection, key: str) -> Any:
    """Not by the index, which would have a key of any length in memory."""
    found = db.execute("SELECT value FROM info NOT INDEXED WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def count(db: sqlite3.Connection, key: str) -> int:
    """The whole number under `key`; 0 where none was noted. Raises ValueError for anything else."""
    return int(info(db, key) or 0)


def blobs(
    db: sqlite3.Connection, level: int, first_row: int, last_row: int = 1 << 62
) -> Iterator[tuple[int, int, bytes]]:
    """First row, number of rows and data of the blobs that hold rows `first_row` to `last_row`."""
    begin = "SELECT max(first_row) FROM rows WHERE level = ? AND first_row <= ?"
    question = "SELECT first_row, num_rows, data FROM rows WHERE level = ? AND first_row <= ? "
    question += f"AND first_row >= coalesce(({begin}), 0) AND first_row + num_rows > ? "
    question += "ORDER BY first_row"
    yield from db.execute(question, (level, last_row, level, first_row, first_row))


def read_rows(db: sqlite3.Connection, level: int, first_row: int, last_row: int) -> list[RowBatch]:
    """The rows of one level from `first_row` to `last_row`. Raises ValueError where one is
    missing.
    """
    found, next_row = [], first_row
    for first, num_rows, data in blobs(db, level, first_row, last_row):
        batch = decoded(data)
        if len(batch) != num_rows or not first <= next_row < first + num_rows:
            raise ValueError(f"row {next_row} of level {level} is missing")
        found.append(batch.part(slice(next_row - first, last_row + 1 - first)))
        next_row = first + num_rows
    if next_row <= last_row:
        raise ValueError(f"row {next_row} of level {level} is missing")
    return found


def num_rows(db: sqlite3.Connection, level: int = 0) -> int:
    question = "SELECT first_row + num_rows - 1 FROM rows WHERE level = ? "
    found = db.execute(question + "ORDER BY first_row DESC LIMIT 1", (level,)).fetchone()
    return int(found[0]) if found else 0


def row_up_to(db: sqlite3.Connection, publish: int) -> int:
    """The last row before one above `publish`, of those counted from 1 last; found by the index."""
    counted_from = count(db, "counted_from") or 1
    question = "SELECT first_row, num_rows FROM rows WHERE level = 0 AND last_publish > ? "
    question += "AND first_row + num_rows > ? ORDER BY first_row LIMIT 1"
    found = db.execute(question, (publish, counted_from)).fetchone()
    if found is None:
        return num_rows(db)
    first, last = max(found[0], counted_from), found[0] + found[1] - 1
    numbers = np.concatenate([batch.publish for batch in read_rows(db, 0, first, last)])
    return int(first - 1 + np.flatnonzero(numbers > publish)[0])


def metrics(db: sqlite3.Connection) -> list[Metric]:
    columns = "name, unit, kind, better, level, description, step_metric"
    rows = db.execute(f"SELECT {columns} FROM metrics ORDER BY place LIMIT {MAX_METRICS}")
    return [
        Metric(
            harmless(str(name)),
            harmless(str(unit)),
            kind if kind in KINDS else "gauge",
            better if better in BETTER else "none",
            int(level),
            harmless(str(description)),
            harmless(str(step_metric)),
        )
        for name, unit, kind, better, level, description, step_metric in rows
    ]


def check_version(db: sqlite3.Connection, path: Path) -> None:
    application_id = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application_id not in (0, APPLICATION_ID):
        raise RowFileError(f"{path}: not a file of rows")
    if application_id and 0 < version < VERSION:
        raise RowFileError(f"{path}: {made_by('0.3')}")
    if version > VERSION:
        raise RowFileError(f"{path}: version {version} is newer than this operant reads; update it")


def check_tables(db: sqlite3.Connection, path: Path) -> None:
    """A file is bytes that anyone may write: no views, no computed columns, no endless values."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BLOB_BYTES + CHUNK_BYTES)
    question = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
    blank = sqlite3.connect(":memory:")
    try:
        blank.executescript(TABLES)
        for (name,) in blank.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            found, expected = (one.execute(question, (name,)).fetchone() for one in (db, blank))
            if found != expected:
                raise RowFileError(f"{path}: not a file of rows")
    finally:
        blank.close()


@contextmanager
def errors(path: Path) -> Iterator[None]:
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
    """The system's message for a full disk; empty otherwise."""
    try:
        is_full = os.statvfs(path.parent).f_bavail == 0
    except OSError:
        is_full = False
    return os.strerror(errno.ENOSPC) if is_full else ""
