"""The console of a run as rows of a pane: searched, with folded tracebacks, cut or wrapped."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, overload

from rich.cells import chop_cells

from ...shared.console.console_file import time_of, wall_ns_of, without_time
from ...shared.text.harmless import harmless
from ..render.formatting import format_clock
from ..render.lines import Line, fit
from ..runs.reading.file_tail import traceback_end, traceback_starts

_ERROR = re.compile(r"\b\w*(Error|Exception)\b|^Traceback|^Fatal Python")
_WARNING = re.compile(r"\bwarning\b", re.IGNORECASE)
_CLOCK_WIDTH = len("12:31:05 ")


Part = tuple[int, int]  # the first line that is drawn as one, and the line after the last of them


class _EachLine(Sequence[Part]):
    """Every line is a part. A monitor that follows a console has no list of thousands to make."""

    def __init__(self, num_lines: int) -> None:
        self._num_lines = num_lines

    def __len__(self) -> int:
        return self._num_lines

    def __getitem__(self, place: Any) -> Any:
        if place >= self._num_lines:
            raise IndexError(place)
        return place, place + 1


def console_parts(lines: Sequence[str], words: Sequence[str], is_folded: bool) -> Sequence[Part]:
    """Each line, or each traceback where they are folded, that holds all `words`, whatever their
    case.
    """
    starts = traceback_starts(lines) if is_folded else []
    if not starts and not words:
        return _EachLine(len(lines))
    parts: list[Part] = []
    place = 0
    for start in starts:
        if start >= place:
            parts += pairwise(range(place, start + 1))
            place = traceback_end(lines, start)
            parts.append((start, place))
    parts += pairwise(range(place, len(lines) + 1))
    for word in words:
        parts = [
            (start, end)
            for start, end in parts
            if any(word.lower() in without_time(line).lower() for line in lines[start:end])
        ]
    return parts


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
        # The part in each row, and which of its rows it is; None where each part has one row.
        self._wrapped = [
            (i, row) for i, part in enumerate(parts) for row in range(len(self._broken(part)))
        ] if wraps else None  # fmt: skip

    def __len__(self) -> int:
        return len(self._parts if self._wrapped is None else self._wrapped)

    @overload
    def __getitem__(self, row: int) -> Line: ...
    @overload
    def __getitem__(self, row: slice) -> list[Line]: ...
    def __getitem__(self, row: int | slice) -> Line | list[Line]:
        if isinstance(row, slice):
            return [self._drawn(place) for place in range(*row.indices(len(self)))]
        return self._drawn(row)

    def line_at(self, row: int) -> int:
        """The place of the line that row `row` shows; of a traceback, of its error."""
        return self._parts[self._place(row)][1] - 1

    def _place(self, row: int) -> int:
        """The place in `_parts` of the part that row `row` shows."""
        return row if self._wrapped is None else self._wrapped[row][0]

    def row_of(self, line: int) -> int:
        """The first row of what shows `line`; where nothing does, of the last one before it."""
        place = self._part_of(line)
        return place if self._wrapped is None else bisect_left(self._wrapped, (place, 0))

    def beside(self, line: int, steps: int) -> int:
        """The place of the line that many parts after, or before, the one that shows `line`."""
        part = min(max(self._part_of(line) + steps, 0), len(self._parts) - 1)
        return self._parts[part][1] - 1

    def _part_of(self, line: int) -> int:
        return max(0, bisect_right(self._parts, (line, len(self._lines))) - 1)

    def _broken(self, part: Part) -> list[str]:
        text = self._text(part)
        if len(text) <= self._room and text.isascii():
            return [text]
        return chop_cells(text, self._room)

    def _text(self, part: Part) -> str:
        start, end = part
        text = harmless(without_time(self._lines[end - 1]).expandtabs(4)).rstrip()
        return f"▸ {text}  (traceback, {end - start} lines)" if end - start > 1 else text

    def _drawn(self, row: int) -> Line:
        part = self._parts[self._place(row)]
        below = 0 if self._wrapped is None else self._wrapped[row][1]
        text = self._text(part)
        style = "text"
        if _ERROR.search(text):
            style = "error"
        elif _WARNING.search(text):
            style = "warning"
        prefix = "cursor_" if part[0] <= self._selected < part[1] else ""
        shown = text if self._wrapped is None else self._broken(part)[below]
        line: Line = [(fit(shown, self._room), prefix + style)]
        if self._has_times:
            clock = "" if below else _clock(self._lines[part[1] - 1])
            line.insert(0, (fit(clock, _CLOCK_WIDTH), f"{prefix}dim"))
        return line


def _clock(line: str) -> str:
    """The local time of day of a line; empty where it has none."""
    try:
        return format_clock(wall_ns_of(time_of(line)))
    except ValueError:
        return ""
