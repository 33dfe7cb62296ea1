"""The end of a growing log file, read as it grows."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from ....shared.runs.small_file import open_regular

MAX_LINES = 2000
_FIRST_READ_BYTES = 1 << 18  # of a log that is longer, its end


class LogTail:
    """The last lines of one file. `read` gives the same tuple as long as nothing was added."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place: tuple[int, int] | None = None  # inode and offset
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._rest = b""
        self._shown: tuple[str, ...] = ()

    def read(self) -> tuple[str, ...]:
        """The lines there are; none where there is no such file."""
        try:
            status = self._path.stat()
            inode, offset = self._place or (status.st_ino, 0)
            if inode != status.st_ino or status.st_size < offset:  # another file, or cut short
                self._lines.clear()
                self._rest, offset = b"", 0
            if status.st_size == offset:
                return self._shown
            start = max(offset, status.st_size - _FIRST_READ_BYTES)
            with os.fdopen(open_regular(self._path, self._path.parent), "rb") as file:
                file.seek(start)
                data = file.read(status.st_size - start)
        except OSError:
            return self._shown
        self._place = status.st_ino, start + len(data)
        self._take(data if start == offset else data.partition(b"\n")[2])
        return self._shown

    def _take(self, data: bytes) -> None:
        """Whole lines; of one that a carriage return writes over, what stands there at last."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-_FIRST_READ_BYTES:]
        for line in whole:
            text = line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")
            self._lines.append(text)
        unfinished = self._rest.rpartition(b"\r")[2].decode("utf-8", "replace")
        self._shown = (*self._lines, unfinished) if unfinished else tuple(self._lines)


def last_traceback(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The last traceback in a log, with the error that ends it; empty if there is none."""
    starts = [i for i, line in enumerate(lines) if line.startswith(("Traceback (", "Fatal Python"))]
    if not starts:
        return ()
    found = list(lines[starts[-1] : starts[-1] + 1])
    for line in lines[starts[-1] + 1 :]:
        found.append(line)
        if line and not line[0].isspace():  # `ValueError: no`, after the indented frames
            break
    return tuple(found)
