"""What both ends of a file of rows know: its tables, and what may be in them.

    info     key, value: what the recorder must know again when it begins anew
    metrics  place, name, unit, kind, better, level, description, step_metric
    tail     first_row, num_rows, data: the newest rows, a batch for each time they were taken
    chunks   first_row, num_rows, data: 1024 rows each, or 4 MiB, made from the tail

Rows are counted from 1. `data` is a batch as `row_blob.py` makes it; what a process that was killed
left half written, SQLite leaves out.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import RowFileError
from ..page.layout import MAX_METRICS
from ..page.schema import BETTER, KINDS, Metric
from ..text.harmless import harmless
from .row_blob import CHUNK_BYTES, MAX_BLOB_BYTES

APPLICATION_ID = 0x4F505254  # "OPRT"
VERSION = 1
BUSY_S = 5.0
LOST_EVENTS = "num_lost_events"  # a key of info

TABLES = """
CREATE TABLE IF NOT EXISTS info (key TEXT PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS metrics (
    place INTEGER PRIMARY KEY, name TEXT UNIQUE, unit TEXT, kind TEXT, better TEXT, level INTEGER,
    description TEXT, step_metric TEXT);
CREATE TABLE IF NOT EXISTS tail (first_row INTEGER PRIMARY KEY, num_rows INTEGER, data BLOB);
CREATE TABLE IF NOT EXISTS chunks (first_row INTEGER PRIMARY KEY, num_rows INTEGER, data BLOB);
"""


def info(db: sqlite3.Connection, key: str) -> Any:
    """Not by the index, which would have a key of any length in memory."""
    found = db.execute("SELECT value FROM info NOT INDEXED WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def count(db: sqlite3.Connection, key: str) -> int:
    """The whole number under `key`; 0 where none was noted. Raises ValueError for anything else."""
    return int(info(db, key) or 0)


def blobs(db: sqlite3.Connection, table: str, first_row: int) -> Iterator[tuple[int, int, bytes]]:
    """From the one that holds `first_row` on, found by its key."""
    begin = f"SELECT max(first_row) FROM {table} WHERE first_row <= ?"
    question = f"SELECT first_row, num_rows, data FROM {table} WHERE first_row >= "
    question += f"coalesce(({begin}), 0) AND first_row + num_rows > ? ORDER BY first_row"
    yield from db.execute(question, (first_row, first_row))


def num_rows(db: sqlite3.Connection) -> int:
    question = "SELECT coalesce(max(first_row + num_rows - 1), 0) FROM "
    return max(int(db.execute(question + table).fetchone()[0]) for table in ("chunks", "tail"))


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
    """What SQLite tells in several ways, as the system would."""
    try:
        is_full = os.statvfs(path.parent).f_bavail == 0
    except OSError:
        is_full = False
    return os.strerror(errno.ENOSPC) if is_full else ""
