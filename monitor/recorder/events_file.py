"""`events.log`: one line for each message of a run, each once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from ...shared import Event
from ...shared.runs.small_file import open_regular, open_to_append
from ...shared.text.harmless import harmless

_TAIL_BYTES = 1 << 20  # the lines of a full ring of events are a quarter of it


class EventsFile:
    """Appends lines that the end of the file does not have yet.

    Raises OSError when the disk does not take them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _cut_half_a_line(path)
        # Newest last, and no more than the end of the file is read of: a script may send ever new
        # texts, and a line that is so old is in no ring of events any more.
        self._known: dict[str, None] = {}
        self._known_bytes = 0
        self._remember(_last_lines(path))

    def append(self, lines: Iterable[str]) -> list[str]:
        """Returns those that it did not have."""
        new = [line for line in dict.fromkeys(lines) if line not in self._known]
        if not new:
            return []
        fd = open_to_append(self.path)
        try:
            size = os.fstat(fd).st_size
            data = ("\n".join(new) + "\n").encode("utf-8", "replace")
            try:
                if os.write(fd, data) < len(data):
                    raise OSError("no room for the whole line")
            except OSError:
                os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)
        self._remember(new)
        return new

    def _remember(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line not in self._known:
                self._known[line] = None
                self._known_bytes += len(line)
        while self._known_bytes > _TAIL_BYTES:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._known_bytes -= len(oldest)

    def lines(self) -> list[str]:
        """The last lines of the file, in no order."""
        return list(self._known)

    def has_text(self, text: str) -> bool:
        """Whether a line, of whatever time, says this."""
        return any(line.endswith(f"  {text}") for line in self._known)


def event_line(event: Event) -> str:
    """`2026-11-21T14:25:30.123456Z  warning  the disk is nearly full`, whatever the text holds."""
    text = " ".join(harmless(event.text).split())
    return f"{iso_time(event.wall_ns)}  {event.level:<7}  {text}"


def iso_time(wall_ns: int) -> str:
    """UTC with microseconds: two messages of one run never share it in practice."""
    seconds, rest_ns = divmod(wall_ns, 10**9)
    try:
        clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):  # a page is bytes that anyone may write
        clock = "0000-00-00T00:00:00"
    return f"{clock}.{rest_ns // 1000:06}Z"


def _cut_half_a_line(path: Path) -> None:
    """Remove the half of a line that a recorder left when it died."""
    tail = _tail(path)
    if tail and not tail.endswith(b"\n"):
        fd = open_to_append(path)
        try:
            os.ftruncate(fd, os.fstat(fd).st_size - len(tail) + tail.rfind(b"\n") + 1)
        finally:
            os.close(fd)


def _last_lines(path: Path) -> list[str]:
    return _tail(path).decode("utf-8", "replace").splitlines()


def _tail(path: Path) -> bytes:
    try:
        with os.fdopen(open_regular(path, path.parent), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES)
    except OSError:
        return b""
