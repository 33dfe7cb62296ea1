"""The end of a growing text file, read as it grows."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from ....shared.console.console_file import without_time
from ....shared.runs.small_file import open_regular

MAX_LINES = 10_000
_READ_BYTES = 2 << 20  # of a file that is longer, its end


class FileTail:
    """The last lines of one file. `read` gives the same tuple as long as the file is the same."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None  # inode, size and time of the last change
        self._settled = 0  # as many bytes are in `_lines`, and do not change any more
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._shown: tuple[str, ...] = ()

    def read(self) -> tuple[str, ...]:
        """The lines there are; none where there is no such file."""
        try:
            status = self.path.stat()
            seen = status.st_ino, status.st_size, status.st_mtime_ns
            if seen == self._seen:
                return self._shown
            if self._seen is None or self._seen[0] != seen[0] or status.st_size < self._settled:
                self._lines.clear()  # another file, or cut short
                self._settled = 0
            with os.fdopen(open_regular(self.path, self.path.parent), "rb") as file:
                self._take(file.fileno(), status.st_size)
        except OSError:
            return self._shown
        self._seen = seen
        return self._shown

    def _take(self, fd: int, size: int) -> None:
        """The last line stays open: its writer may still change it."""
        start = max(self._settled, size - _READ_BYTES)
        data = os.pread(fd, size - start, start)
        if start > self._settled:  # in the middle of a line
            begin = data.find(b"\n") + 1
            start, data = start + begin, data[begin:]
        *lines, last = data.split(b"\n")
        self._settled = start + len(data) - len(last)
        self._lines.extend(map(_text, lines))
        self._shown = (*self._lines, _text(last)) if last.strip() else tuple(self._lines)


def _text(line: bytes) -> str:
    """Decode `line`, keeping only the text after its last carriage return."""
    return line.rstrip(b"\r ").rpartition(b"\r")[2].decode("utf-8", "replace")


def last_traceback(lines: Sequence[str]) -> tuple[str, ...]:
    """The last traceback in a console, with the error that ends it; empty if there is none."""
    starts = traceback_starts(lines, ("Traceback (", "Fatal Python"))
    if not starts:
        return ()
    return tuple(map(without_time, lines[starts[-1] : traceback_end(lines, starts[-1])]))


def traceback_starts(lines: Sequence[str], begins: tuple[str, ...] = ("Traceback (",)) -> list[int]:
    """The places of the lines that tracebacks begin with."""
    possible = {i for begin in begins for i, line in enumerate(lines) if begin in line}
    return [i for i in sorted(possible) if without_time(lines[i]).startswith(begins)]


def traceback_end(lines: Sequence[str], start: int) -> int:
    """The place after the traceback that begins at `start`: after the error, as `ValueError: no`,
    which follows the indented frames.
    """
    for place in range(start + 1, len(lines)):
        text = without_time(lines[place])
        if text and not text[0].isspace():
            return place + 1
    return len(lines)
