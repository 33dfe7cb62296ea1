"""The pane of a run's console output."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from ...shared import Event
from ...shared.console.console_file import time_of, time_text, wall_ns_of, without_time
from ..panels.console_lines import ConsoleRows, console_parts
from .scrolling_pane import ScrollingPane


class ConsolePanel(ScrollingPane):
    """The end of a run's console, newest line last. A line can be selected; the cursor of the
    charts goes where the run was then.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("comma", "select(-1)", "select a line; the charts' cursor follows (click)"),
        Binding("full_stop", "select(1)", "select a line; the charts' cursor follows (click)"),
        Binding("w", "wrap", "wrap long lines, or cut them"),
        Binding("f", "fold", "fold tracebacks, or unfold them"),
    ]

    KEYS = (*ScrollingPane.KEYS, (",.", "line"), ("w", "wrap"), ("f", "fold"))

    wraps: var[bool] = var(False, init=False)
    is_folded: var[bool] = var(True, init=False)
    selected: var[str] = var("", init=False)  # the line, with its time

    class Chosen(Message):
        """Somebody selected a line, which is an event here."""

        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    excuse = "nothing printed, or not kept"

    def __init__(self) -> None:
        super().__init__(id="console")
        self._printed: tuple[str, ...] = ()
        self._found: tuple[tuple[object, ...], ConsoleRows] | None = None

    @property
    def has_lines(self) -> bool:
        return bool(self._printed)

    def show(self, console: tuple[str, ...]) -> None:
        """Draw `console`, if anything was added since the last time. What somebody reads further up
        or has selected stands still.
        """
        if console is self._printed:
            return
        rows = self.found()
        stands = len(rows) > 0 and (self.lines_back > 0 or self.selected != "")
        last = self._printed[rows.line_at(len(rows) - 1 - self.lines_back)] if stands else ""
        self._printed = console
        if stands:
            rows = self.found()
            self.lines_back = max(0, len(rows) - 1 - rows.row_of(self._place_of(last)))
        self.redraw()

    def found(self) -> ConsoleRows:
        width = self.size.width - 4
        state = self._printed, width, self.words, self.wraps, self.is_folded, self.selected
        if self._found is None or self._found[0] != state:
            parts = console_parts(self._printed, self.words, self.is_folded)
            selected = self._place_of(self.selected)
            rows = ConsoleRows(self._printed, parts, width, self.wraps, selected)
            self._found = state, rows
        return self._found[1]

    def go_to(self, wall_ns: int | None) -> None:
        """Select the last line that was printed until a moment; with None follow what comes."""
        if wall_ns is None:
            self.selected, self.lines_back = "", 0
        elif self._printed:
            self._select(max(0, self._last_until(time_text(wall_ns))))

    def action_select(self, steps: int) -> None:
        """The line before or after the one that is selected; at first the newest that is shown."""
        rows = self.found()
        if not len(rows):
            return
        if self.selected:
            place = rows.beside(self._place_of(self.selected), steps)
        else:
            place = rows.line_at(max(0, len(rows) - 1 - self.lines_back))
        self._choose(place)

    def action_wrap(self) -> None:
        self.wraps = not self.wraps

    def action_fold(self) -> None:
        self.is_folded = not self.is_folded

    def action_scroll(self, lines: int) -> None:
        super().action_scroll(lines)
        if lines < 0 and not self.lines_back:  # at the end: follow what comes
            self.selected = ""

    def on_click(self, click: events.Click) -> None:
        row = self.line_at(click.y)
        if row is not None:
            self._choose(self.found().line_at(row))

    def on_resize(self) -> None:
        self._show_selected()

    def watch_selected(self) -> None:
        self.redraw()

    def watch_wraps(self) -> None:
        self._show_selected()

    def watch_is_folded(self) -> None:
        self._show_selected()

    def watch_words(self) -> None:
        """Without a search, the line that was selected in it is shown among the others."""
        super().watch_words()
        self._show_selected()

    def _choose(self, place: int) -> None:
        self._select(place)
        line = self._printed[place]
        with contextlib.suppress(ValueError):  # it has no time
            self.post_message(
                self.Chosen(Event(0, wall_ns_of(time_of(line)), "info", without_time(line)))
            )

    def _select(self, place: int) -> None:
        self.selected = self._printed[place]
        self._show_selected()

    def _show_selected(self) -> None:
        """Scroll to the selected line, unless it is in view."""
        rows, room = self.found(), max(1, self.size.height - 2)
        if self.selected and len(rows):
            row = rows.row_of(self._place_of(self.selected))
            start, end = self._span(len(rows), room)
            if not start <= row < end:
                self.lines_back = max(0, min(len(rows) - 1 - row - room // 2, len(rows) - room))
        self.redraw()

    def _place_of(self, line: str) -> int:
        """The place of a line now. A line that has changed since, as a progress bar, is the last of
        its time or before; negative if there is no such line.
        """
        time = time_of(line)
        last = place = self._last_until(time) if line else -1
        while place >= 0 and time_of(self._printed[place]) == time:
            if self._printed[place] == line:
                return place
            place -= 1
        return last

    def _last_until(self, time: str) -> int:
        """The last line that is no newer than a time."""
        return bisect_right(self._printed, time, key=time_of) - 1
