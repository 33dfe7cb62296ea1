"""`console.log`: the output of a process, with the time in front of every line.

The text is plain: escape sequences and control characters are removed, secrets are masked, and of a
line that is overwritten by carriage returns the last version stays. The last line can still change.
Of long output the last part is kept.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from ..runs.small_file import open_to_change
from ..text.harmless import harmless
from ..text.masking import MASK, masked_text

MAX_BYTES = 8 << 20
LAST_BYTES = 4 << 20  # what stays of a file that has become longer
MAX_CHARACTERS = 1 << 16  # of a line that does not end: its last ones
MAX_KEY_LINES = 100  # that are hidden after the head of a private key whose end does not come

_TIME_CHARACTERS = len("2026-11-27T23:53:42.123Z ")
_KEY_HEAD = "-----BEGIN PRIVATE KEY-----"
_OPEN_KEY = re.compile("-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?!.*-----END )", re.DOTALL)
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
)


def time_text(wall_ns: int) -> str:
    """`2026-11-27T23:53:42.123Z`; such texts sort by time."""
    moment = datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{wall_ns // 1_000_000 % 1000:03d}Z"


def without_time(line: str) -> str:
    """A console's line without its time. Lines without a time are returned unchanged."""
    return line[_TIME_CHARACTERS:] if time_of(line) else line


def time_of(line: str) -> str:
    """The time of a console's line, see `time_text`; empty if it has none."""
    # A regular expression would be slower: a monitor calls this for thousands of lines.
    has_time = line[10:11] == "T" and line[23:25] in ("Z ", "Z") and line[:4].isdigit()
    return line[: _TIME_CHARACTERS - 1] if has_time else ""


def wall_ns_of(time_text: str) -> int:
    """The time of `time_of` in nanoseconds. Raises ValueError if it does not exist: February 30."""
    return round(datetime.fromisoformat(time_text).timestamp() * 1e3) * 1_000_000


class ConsoleFile:
    """Writes the lines of output that arrives in pieces to the file at `path`."""

    def __init__(self, path: Path, secrets: Iterable[str] = ()) -> None:
        """`secrets` are texts to mask everywhere. Raises OSError."""
        self._secrets = tuple(secrets)
        self._fd = open_to_change(path)
        self._end = os.fstat(self._fd).st_size  # of the lines that have ended
        if self._end and os.pread(self._fd, 1, self._end - 1) != b"\n":
            self._end += os.pwrite(self._fd, b"\n", self._end)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""  # the last line, as it was printed until now
        self._num_key_lines = 0  # that may still come of a private key

    def feed(self, data: bytes) -> None:
        """Write new output. On a full disk it is lost."""
        stamp = time_text(time.time_ns())
        *lines, last = (self._open + self._decoder.decode(data)).split("\n")
        self._open = _overwritten(last)[-MAX_CHARACTERS:]
        ended = self._kept(lines, stamp)
        self._look_for_key(lines)
        written = ended + self._kept([self._open] if self._open else [], stamp).rstrip()
        with contextlib.suppress(OSError):
            if os.pwrite(self._fd, written, self._end) == len(written):
                os.ftruncate(self._fd, self._end + len(written))
                self._end += len(ended)
            if self._end > MAX_BYTES:
                self._shorten(stamp)

    def _kept(self, lines: list[str], stamp: str) -> bytes:
        """The lines to write, masked together, because a private key has several. If its head came
        earlier, they are masked as if it were in front of them.
        """
        text = "\n".join(_ESCAPES.sub("", _overwritten(line)).rstrip("\r") for line in lines)
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        head = _KEY_HEAD if self._num_key_lines else ""
        kept = masked_text(head + text).removeprefix(head).split("\n") if lines else []
        return "".join(
            f"{stamp} {harmless(line.expandtabs(8))}".rstrip() + "\n" for line in kept
        ).encode()

    def _look_for_key(self, lines: list[str]) -> None:
        """Remember whether a private key begins in these lines and continues in the next."""
        text = "\n".join(lines)
        if _OPEN_KEY.search(text):
            self._num_key_lines = MAX_KEY_LINES
        elif "-----END " in text:
            self._num_key_lines = 0
        else:
            self._num_key_lines = max(0, self._num_key_lines - len(lines))

    def _shorten(self, stamp: str) -> None:
        """Keep the last part of the file only, after a line that says so. Raises OSError."""
        last = os.pread(self._fd, LAST_BYTES, self._end - LAST_BYTES).partition(b"\n")[2]
        note = f"{stamp} [operant: what was printed before is not kept]\n".encode()
        os.ftruncate(self._fd, 0)
        self._end = os.pwrite(self._fd, note + last, 0)


def _overwritten(line: str) -> str:
    """The text of `line` that is visible after its carriage returns."""
    text = line.rstrip("\r")
    return text.rpartition("\r")[2] + line[len(text) :]
