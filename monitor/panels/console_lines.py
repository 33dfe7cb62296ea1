"""What a run printed, as rows of a pane: found, folded and broken into lines only where shown."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple, overload

from rich.cells import chop_cells

from ...shared.console.console_file import time_of, wall_ns_of, without_time
from ...shared.text.harmless import harmless
from ..render.formatting import format_clock
from ..render.lines import Line, fit
from ..runs.reading.file_tail import begins_traceback, traceback_end

_ERROR = re.compile(r"\b\w*(Error|Exception)\b|^Traceback|^Fatal Python")
_WARNING = re.compile(r"\bwarning\b", re.IGNORECASE)
_CLOCK_WIDTH = len("12:31:05 ")


class Part(NamedTuple):
    """Lines `start` to `end` of a console, drawn as one: a line, or a traceback that is folded."""

    start: int
    end: int


def console_parts(lines: Sequence[str], words: Sequence[str], is_folded: bool) -> list[Part]:
    """The parts that hold all `words`, whatever their case."""
    parts: list[Part] = []
    place = 0
    starts = [i for i, line in enumerate(lines) if begins_traceback(line)] if is_folded else []
    for start in starts:
        if start >= place:
            parts += [Part(i, i + 1) for i in range(place, start)]
            place = traceback_end(lines, start)
            parts.append(Part(start, place))
    parts += [Part(i, i + 1) for i in range(place, len(lines))]
    if not words:
        return parts
    wanted = [word.lower() for word in words]
    return [
        part
        for part in parts
        if all(
            any(word in without_time(line).lower() for line in lines[part.start : part.end])
            for word in wanted
        )
    ]


class ConsoleRows(Sequence[Line]):
    """Rows of `width` cells; each is drawn when it is asked for. Long lines are cut, or where
    `wraps` go on in the next row.
    """

    def __init__(
        self, lines: Sequence[str], parts: Sequence[Part], width: int, wraps: bool, selected: int
    ) -> None:
        """`selected` is a place in `lines`, negative for none."""
        self._lines, self._parts, self._selected = lines, parts, selected
        self._has_times = bool(lines) and bool(time_of(lines[-1]))
        self._room = max(8, width - _CLOCK_WIDTH * self._has_times)
        self._rows = [  # the place of a part, and which of its rows; -1 where there is one alone
            (place, row)
            for place, part in enumerate(parts)
            for row in (range(len(self._broken(part))) if wraps else (-1,))
        ]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> Line: ...
    @overload
    def __getitem__(self, row: slice) -> list[Line]: ...
    def __getitem__(self, row: int | slice) -> Line | list[Line]:
        if isinstance(row, slice):
            return [self._drawn(*one) for one in self._rows[row]]
        return self._drawn(*self._rows[row])

    def line_at(self, row: int) -> int:
        """The place of the line that row `row` shows; of a traceback, of its error."""
        return self._parts[self._rows[row][0]].end - 1

    def row_of(self, line: int) -> int:
        """The first row of what shows `line`; where nothing does, of the last one before it."""
        return bisect_left(self._rows, (self._part_of(line), -1))

    def beside(self, line: int, steps: int) -> int:
        """The place of the line that many parts after, or before, the one that shows `line`."""
        part = min(max(self._part_of(line) + steps, 0), len(self._parts) - 1)
        return self._parts[part].end - 1

    def _part_of(self, line: int) -> int:
        return max(0, bisect_right(self._parts, line, key=lambda part: part.start) - 1)

    def _broken(self, part: Part) -> list[str]:
        text = self._text(part)
        if len(text) <= self._room and text.isascii():
            return [text]
        return chop_cells(text, self._room)

    def _text(self, part: Part) -> str:
        text = harmless(without_time(self._lines[part.end - 1]).expandtabs(4)).rstrip()
        is_folded = part.end - part.start > 1
        return f"▸ {text}  (traceback, {part.end - part.start} lines)" if is_folded else text

    def _drawn(self, place: int, row: int) -> Line:
        part = self._parts[place]
        text = self._text(part)
        style = "text"
        if _ERROR.search(text):
            style = "error"
        elif _WARNING.search(text):
            style = "warning"
        prefix = "cursor_" if part.start <= self._selected < part.end else ""
        shown = text if row < 0 else self._broken(part)[row]
        line: Line = [(fit(shown, self._room), prefix + style)]
        if self._has_times:
            clock = "" if row > 0 else _clock(self._lines[part.end - 1])
            line.insert(0, (fit(clock, _CLOCK_WIDTH), f"{prefix}dim"))
        return line


def _clock(line: str) -> str:
    """The local time of day of a line; empty where it has none."""
    try:
        return format_clock(wall_ns_of(time_of(line)))
    except ValueError:
        return ""
