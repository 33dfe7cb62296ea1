"""`metrics.csv`: one row every few seconds, appended whole, in one line of time."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...shared.runs.small_file import create_anew, open_regular, open_to_append
from ...shared.text.harmless import harmless
from .rows import NOTHING, Row

HEAD = ("publish", "wall_s", "elapsed_s", "iteration", "env_steps")
_TAIL_BYTES = 1 << 20  # holds the last row of any file: 4096 metrics take a tenth of it


class MetricsFile:
    """Appends rows to one file. `last` is its last row, as far as its head goes.

    Every method raises OSError when the disk does not take it; the file is then as it was.
    """

    def __init__(self, path: Path) -> None:
        """Go on with the file at `path` if there is one; half a row at its end is cut off."""
        self.path = path
        self.last = NOTHING
        self._columns: list[str] = []
        self._fd = -1
        if path.exists():
            self._go_on()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end; metrics that are new to the file get a column."""
        if not rows:
            return
        names = dict.fromkeys(column_name(name) for row in rows for name in row.metrics)
        new = [name for name in names if name not in self._columns]
        if new or self._fd < 0:
            self._add_columns(new)
        self._write("".join(self._line(row) for row in rows).encode())
        self.last = rows[-1]

    def truncate_after(self, publish: int, since_wall_s: float = math.inf) -> None:
        """Drop the rows above `publish`: all, or those written before `since_wall_s`.

        A run that goes on from a checkpoint does those publishes again.
        """
        if self._fd < 0 or self.last.publish <= publish:
            return
        with self.path.open("rb") as file:
            size = len(file.readline())
            last = NOTHING
            for line in file:
                row = _parsed(line)
                if row.publish > publish and row.wall_s < since_wall_s:
                    break
                size, last = size + len(line), row
            else:
                return
        os.ftruncate(self._fd, size)
        self.last = last

    def set_aside(self) -> None:
        """Rename the file and begin a new one: nothing that follows belongs to the same page."""
        if self.path.exists():
            self.path.rename(self.path.with_suffix(".old.csv"))
        self.close()
        self.last, self._columns = NOTHING, []

    def sync(self) -> None:
        """Have the disk hold what was appended."""
        if self._fd >= 0:
            os.fsync(self._fd)

    def _go_on(self) -> None:
        with os.fdopen(open_regular(self.path, self.path.parent), "rb") as file:
            header = _cells(file.readline(_TAIL_BYTES))
            head_bytes = file.tell()
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(head_bytes, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
        if tuple(header[: len(HEAD)]) != HEAD:
            self.set_aside()  # not ours to go on with
            return
        self._columns = header[len(HEAD) :]
        self._fd = open_to_append(self.path)
        end = tail.rfind(b"\n") + 1
        if start + end < size:
            os.ftruncate(self._fd, start + end)
        rows = map(_parsed, reversed(tail[:end].splitlines()))  # the last may be someone's note
        self.last = next((row for row in rows if row != NOTHING), NOTHING)

    def _add_columns(self, new: list[str]) -> None:
        """Write the file anew with more columns, empty in the rows there are."""
        building = self.path.with_name(f".{self.path.name}.building")
        try:
            with os.fdopen(create_anew(building), "wb") as file:
                file.write(_csv_line([*HEAD, *self._columns, *new]).encode())
                for line in self._lines():
                    file.write(line.rstrip(b"\r\n") + b"," * len(new) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            building.rename(self.path)
        finally:
            building.unlink(missing_ok=True)
        self.close()
        self._fd = open_to_append(self.path)
        self._columns += new

    def _lines(self) -> Iterator[bytes]:
        """The rows of the file as they are."""
        if self._fd >= 0:
            with self.path.open("rb") as file:
                file.readline()
                yield from file

    def _line(self, row: Row) -> str:
        head = [str(row.publish), f"{row.wall_s:.6f}", f"{row.elapsed_s:.6f}"]
        head += ["" if count < 0 else str(count) for count in (row.iteration, row.env_steps)]
        values = {column_name(name): repr(value) for name, value in row.written.items()}
        return ",".join([*head, *(values.get(column, "") for column in self._columns)]) + "\n"

    def _write(self, data: bytes) -> None:
        """All of `data` or, when the disk is full, nothing of it."""
        size = os.fstat(self._fd).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            os.ftruncate(self._fd, size)
            raise


def column_name(name: str) -> str:
    """The column of metric `name`: its name, made harmless and distinct from the fixed columns."""
    name = harmless(name)
    return f"metrics/{name}" if name in HEAD else name


def _cells(line: bytes) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8", "replace")]), [])
    except csv.Error:
        return []


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _parsed(line: bytes) -> Row:
    """The head of a row; `NOTHING` when it is none."""
    cells = line.split(b",", len(HEAD))
    try:
        publish, wall_s, elapsed_s = int(cells[0]), float(cells[1]), float(cells[2])
        return Row(publish, wall_s, elapsed_s, int(cells[3] or -1), int(cells[4] or -1))
    except (ValueError, IndexError, TypeError):
        return NOTHING
