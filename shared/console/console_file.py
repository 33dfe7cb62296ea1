"""`console.log`: what a terminal would show of a process's output, a time in front of each line.

The text in the file is plain: control characters and escape sequences are gone and secrets are
masked. The newest rows can still change, because progress bars write over what stands there; the
end of the file is then written anew. Of long output the first and the last part are kept.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..runs.small_file import open_to_change, write_whole
from ..text.harmless import harmless
from ..text.masking import MASK, masked_text

MAX_BYTES = 8 << 20
FIRST_BYTES, LAST_BYTES = 1 << 20, 4 << 20  # what stays of a file that has become longer
MAX_CHARACTERS = 4000  # of a line
_MASKED_CHARACTERS = 5000  # so that no secret is cut in two before it is masked
MAX_OPEN_ROWS = 64  # rows at the end that the cursor can still reach
MAX_KEY_LINES = 100  # of a private key: one that never ends hides no more
_MAX_ESCAPE = 4096
_NOTE_BYTES, _LONGEST_LINE_BYTES = 100, 5 * MAX_CHARACTERS

_TIME_CHARACTERS = len("2026-11-27T23:53:42.123Z ")
_TOKENS = re.compile(
    r"[^\x00-\x1f\x7f]+"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # a control sequence
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # a title, a link and the like
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x1f\x7f]"
)
_UNFINISHED_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_LEFT_OUT = re.compile(rb"\S+ \[operant: (\d{1,18}) bytes are not kept\]\n")


def time_text(wall_ns: int) -> str:
    """`2026-11-27T23:53:42.123Z`; such texts sort by time."""
    moment = datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{wall_ns // 1_000_000 % 1000:03d}Z"


def without_time(line: str) -> str:
    """The text of a line of a console. Lines of other files have no time, and stay."""
    return line[_TIME_CHARACTERS:] if _has_time(line) else line


def time_of(line: str) -> str:
    """Its time, as `time_text` writes it; empty where it has none."""
    return line[: _TIME_CHARACTERS - 1] if _has_time(line) else ""


def _has_time(line: str) -> bool:
    """No pattern, which would take longer: a monitor asks this of thousands of lines."""
    return line[10:11] == "T" and line[23:25] in ("Z ", "Z") and line[:4].isdigit()


def wall_ns_of(time_text: str) -> int:
    """The time that `time_of` gave. Raises ValueError if there is none such, as February 30."""
    return round(datetime.fromisoformat(time_text).timestamp() * 1e3) * 1_000_000


@dataclass(slots=True)
class _Row:
    text: str = ""
    num_characters: int = 0  # that were written to it; `text` holds the first of them
    wall_ns: int = 0
    offset: int = 0  # in the file
    key_lines: int = 0  # as many further lines may belong to a private key


class ConsoleFile:
    """Takes output in pieces as they come, and writes its lines to the file at `path`."""

    def __init__(self, path: Path, secrets: Iterable[str] = ()) -> None:
        """`secrets` are texts to mask wherever they occur. Raises OSError."""
        self._path, self._secrets = path, tuple(secrets)
        self._fd = open_to_change(path)
        self._end = os.fstat(self._fd).st_size
        if self._end and os.pread(self._fd, 1, self._end - 1) != b"\n":
            self._end += os.pwrite(self._fd, b"\n", self._end)
        self._rows = [_Row(offset=self._end)]
        self._num_lost = 0  # rows that a full disk did not take, and the file does not tell yet
        self._changed = 1  # the first row that the file does not have as it is now
        self._row = self._column = 0  # of the cursor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # the beginning of an escape sequence
        self._wall_ns = 0

    @property
    def is_changed(self) -> bool:
        """Whether `flush` has anything to write."""
        return self._changed < len(self._rows)

    def feed(self, data: bytes) -> None:
        """Take what was printed now."""
        self._wall_ns = time.time_ns()
        text = self._held + self._decoder.decode(data)
        self._held = ""
        unfinished = _UNFINISHED_ESCAPE.search(text, max(0, len(text) - _MAX_ESCAPE))
        if unfinished:
            text, self._held = text[: unfinished.start()], unfinished[0]
        for token in _TOKENS.findall(text):
            if token == "\n":
                self._move_down(1)
                self._column = 0
            elif token == "\r":
                self._column = 0
            elif token == "\b":
                self._column = max(0, self._column - 1)
            elif token == "\t":
                self._write(" " * (8 - self._column % 8))
            elif token.startswith("\x1b["):
                self._obey(token)
            elif token >= " " and token != "\x7f":
                self._write(token)

    def flush(self) -> None:
        """Write the rows that have changed."""
        if not self.is_changed:
            return
        changed = self._rows[self._changed :]
        offset = start = changed[0].offset
        key_lines = changed[0].key_lines
        pieces = []
        if self._num_lost:
            wall = time_text(changed[0].wall_ns or self._wall_ns)
            note = f"{wall} [operant: {self._num_lost} lines are not kept: the disk was full]\n"
            pieces.append(note.encode())
            offset += len(pieces[0])
        for row in changed:
            row.offset, row.key_lines = offset, key_lines
            text, key_lines = self._masked(row)
            line = f"{time_text(row.wall_ns)} {text}".rstrip().encode("utf-8", "replace") + b"\n"
            pieces.append(line)
            offset += len(line)
        pieces[-1] = pieces[-1][:-1] if changed[-1].num_characters else b""
        data = b"".join(pieces)
        # Programs that follow the file take a shorter one for another file, so it never shrinks.
        data = data.ljust(self._end - start)
        try:
            if os.pwrite(self._fd, data, start) < len(data):
                raise OSError(errno.ENOSPC, "only a part was written")
        except OSError:  # a full disk: these lines are lost, and the next ones may not be
            is_last_empty = not changed[-1].num_characters
            self._num_lost += len(changed) - is_last_empty
            key_lines = changed[-1].key_lines if is_last_empty else key_lines
            self._rows = [_Row(offset=start, key_lines=key_lines)]
            self._changed, self._row, self._end = 1, 0, start
            with contextlib.suppress(OSError):  # a part of a line may be there
                os.ftruncate(self._fd, start)
            return
        self._num_lost, self._end = 0, start + len(data)
        settled = max(0, min(len(self._rows) - MAX_OPEN_ROWS, self._row))
        del self._rows[:settled]
        self._row -= settled
        self._changed = len(self._rows)
        if self._end > MAX_BYTES:
            with contextlib.suppress(OSError):
                self._shorten()

    def close(self) -> None:
        """Write the rest; a line without an end gets one."""
        if self._rows[-1].num_characters:
            self._row = len(self._rows) - 1
            self._move_down(1)
        self.flush()
        if self._num_lost:  # a line about them needs less room than they do
            self._changed = 0
            self.flush()
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._rows[-1].offset)
        os.close(self._fd)

    def _masked(self, row: _Row) -> tuple[str, int]:
        """The text of `row` as it may be kept, and how many of the next lines to hide."""
        text = harmless(row.text)
        text, key_lines, keep = masked_text(text, self._secrets), 0, MAX_CHARACTERS
        if row.num_characters > _MASKED_CHARACTERS:  # a secret may be cut at the end of `row.text`
            keep = min(keep, max(0, len(text) - (_MASKED_CHARACTERS - MAX_CHARACTERS)))
        num_cut = max(0, len(text) - keep) + row.num_characters - len(row.text)
        if row.key_lines:
            end = _KEY_END.search(text)
            key_lines = 0 if end else row.key_lines - 1
            text = MASK + text[end.start() : keep] if end else MASK
        elif (begin := _KEY_BEGIN.search(text)) and not _KEY_END.search(text):
            key_lines, text = MAX_KEY_LINES, text[: min(keep, begin.end())]
        else:
            text = text[:keep]
        if num_cut > 0:
            text += f" [operant: {num_cut} more characters]"
        return text, key_lines

    def _write(self, text: str) -> None:
        """At the cursor, over what stands there."""
        row, column = self._rows[self._row], self._column
        self._column = end = column + len(text)
        self._changed = min(self._changed, self._row)
        if column == 0 or not row.num_characters:
            row.wall_ns = self._wall_ns
        row.num_characters = max(row.num_characters, end)
        if column < _MASKED_CHARACTERS:
            before = row.text
            text = before[:column].ljust(column) + text + before[end:]
            row.text = text[:_MASKED_CHARACTERS]

    def _move_down(self, num_rows: int) -> None:
        """To rows that are there, or one new one."""
        self._row += num_rows
        if self._row >= len(self._rows):
            last = self._rows[-1]
            last.wall_ns = last.wall_ns or self._wall_ns
            self._changed = min(self._changed, len(self._rows) - 1)
            self._rows.append(_Row())
            self._row = len(self._rows) - 1

    def _obey(self, sequence: str) -> None:
        """Move the cursor or erase, as progress bars of several lines do. Colours have no effect,
        and what else there is.
        """
        first = re.match(r"\d{1,4}", sequence[2:])
        number = int(first[0]) if first else 0
        command, steps = sequence[-1], max(1, number)
        if command in "AF":
            self._row = max(0, self._row - steps)
        elif command in "BE":
            self._row = min(len(self._rows) - 1, self._row + steps)
        elif command == "C":
            self._column = min(self._column + steps, MAX_CHARACTERS)
        elif command == "D":
            self._column = max(0, self._column - steps)
        elif command == "G":
            self._column = steps - 1
        elif command in "KJ":
            row, column = self._rows[self._row], self._column if number == 0 else 0
            row.text, row.num_characters = row.text[:column], min(row.num_characters, column)
            self._changed = min(self._changed, self._row)
            if command == "J" and number == 0:
                del self._rows[self._row + 1 :]
        elif command in "Hf" and self._rows[-1].num_characters:  # a screen that is drawn anew
            self._row = len(self._rows) - 1
            self._move_down(1)
        if command in "EFHf":
            self._column = 0

    def _shorten(self) -> None:
        """Keep the first and the last part of the file, and between them a line about the rest."""
        first = os.pread(self._fd, FIRST_BYTES + _NOTE_BYTES, 0)
        num_before, end = 0, first.rfind(b"\n", 0, FIRST_BYTES) + 1
        if before := _LEFT_OUT.search(first, max(0, FIRST_BYTES - _LONGEST_LINE_BYTES)):
            num_before, end = int(before[1]) - len(before[0]), before.start()
        start = min(self._end - LAST_BYTES, self._rows[0].offset)
        last = os.pread(self._fd, self._end - start, start)
        begin = last.find(b"\n") + 1
        start, last = start + begin, last[begin:]
        num_bytes = num_before + start - end
        wall = time_of(last[:_TIME_CHARACTERS].decode("utf-8", "replace"))
        note = f"{wall or time_text(self._wall_ns)} [operant: {num_bytes} bytes are not kept]\n"
        kept = first[:end] + note.encode() + last
        write_whole(self._path, kept, outlives_power_cut=False)
        os.close(self._fd)
        self._fd = open_to_change(self._path)
        for row in self._rows:
            row.offset += len(kept) - self._end
        self._end = len(kept)
