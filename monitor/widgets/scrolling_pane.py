"""A pane of lines that grows at its end: it follows, scrolls back, and can be searched."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import var

from ..panels.event_lines import matching
from ..render.formatting import counted
from ..render.lines import Line, boxed
from ..render.scroll import scrollbar
from .key_line import Keys
from .pane import Pane


class ScrollingPane(Pane):
    """Newest lines last. What somebody reads further up stands still while others come."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll(1)", "older and newer lines"),
        Binding("down", "scroll(-1)", "older and newer lines"),
        Binding("pageup", "scroll(10)", "ten older, ten newer lines"),
        Binding("pagedown", "scroll(-10)", "ten older, ten newer lines"),
        Binding("home", "scroll(100000)", "the oldest, the newest line"),
        Binding("end", "scroll(-100000)", "the oldest, the newest line"),
    ]

    KEYS: ClassVar[Keys] = (("↑↓", "scroll"),)

    # Lines between the end of what is shown and the newest one; 0 follows what comes.
    lines_back: var[int] = var(0, init=False)
    words: var[tuple[str, ...]] = var((), init=False)

    excuse = "nothing happened yet"
    problem = ""  # any words can be looked for

    def texts(self, width: int) -> list[Line]:
        """All lines, for `width` cells."""
        raise NotImplementedError

    def changed(self, num_before: int) -> None:
        """Draw again after lines were added to the `num_before` there were."""
        if self.lines_back:  # somebody reads older ones: let them stand
            self.lines_back += max(0, len(self.found()) - num_before)
        self.redraw()

    def found(self) -> Sequence[Line]:
        """The lines that the search leaves."""
        return matching(self.texts(self.size.width - 4), self.words)

    def draw(self, width: int, height: int) -> list[Line]:
        lines = self.found()
        room = max(0, height - 2)
        start, end = self._span(len(lines), room)
        back = len(lines) - end
        title: Line = [(str(self.id), "text")]
        if self.words:
            title.append((f"  /{' '.join(self.words)}: {counted(len(lines), 'line')}", "focus"))
        if back:
            title.append((f"  {back} newer below", "dim"))
        excuse = "nothing found" if self.words else self.excuse
        body = list(lines[start:end]) or [
            [(row, "dim")] for row in textwrap.wrap(excuse, max(8, width - 4))
        ]
        drawn = boxed(title, body, width, height, self.border)
        for y, mark in enumerate(scrollbar(start, room, len(lines), room)):
            if len(lines) > room and width > 4:
                drawn[1 + y] = [*drawn[1 + y][:-1], (drawn[1 + y][-1][0][:-1], self.border), *mark]
        return drawn

    def line_at(self, y: int) -> int | None:
        """Which of the lines found stands in row `y` of the pane; None where none does."""
        start, end = self._span(len(self.found()), max(0, self.size.height - 2))
        return start + y - 1 if 0 <= y - 1 < end - start else None

    def _span(self, num_lines: int, room: int) -> tuple[int, int]:
        """The lines to show: the first, and the one after the last."""
        end = num_lines - min(self.lines_back, max(0, num_lines - room))
        return max(0, end - room), end

    def action_scroll(self, lines: int) -> None:
        """Go `lines` lines back; forward where it is negative."""
        last = max(0, len(self.found()) - (self.size.height - 2))
        self.lines_back = max(0, min(self.lines_back + lines, last))

    def watch_lines_back(self) -> None:
        self.redraw()

    def watch_words(self) -> None:
        self.set_reactive(ScrollingPane.lines_back, 0)
        self.redraw()

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(1)

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(-1)
