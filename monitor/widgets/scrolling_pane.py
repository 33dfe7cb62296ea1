"""A pane of more lines than have room: it scrolls, can be searched, and may follow its end."""

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

TOP = 1 << 30  # lines back


class ScrollingPane(Pane):
    """Lines in a frame, by default newest last. Lines that somebody reads further up stand still
    while others come.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll(1)", "a line up, down"),
        Binding("down", "scroll(-1)", "a line up, down"),
        Binding("pageup", "scroll(10)", "ten lines up, down"),
        Binding("pagedown", "scroll(-10)", "ten lines up, down"),
        Binding("home", "scroll(1000000)", "to the top, the end"),
        Binding("end", "scroll(-1000000)", "to the top, the end"),
    ]

    KEYS: ClassVar[Keys] = (("↑↓", "scroll"),)

    # Lines between the end of what is shown and the last one; 0 follows new lines.
    lines_back: var[int] = var(0, init=False)
    words: var[tuple[str, ...]] = var((), init=False)

    excuse = "nothing happened yet"
    problem = ""  # any words can be searched for
    starts_at = 0  # `lines_back` before anybody scrolls

    def texts(self, width: int) -> list[Line]:
        """All lines that scroll, for `width` cells."""
        raise NotImplementedError

    def head(self, width: int) -> list[Line]:
        """Lines above them that stay."""
        return []

    def changed(self, num_before: int) -> None:
        """Draw again after lines were added to the `num_before` there were."""
        if self.lines_back:  # somebody reads older ones: let them stand
            self.lines_back += max(0, len(self.found()) - num_before)
        self.redraw()

    def found(self) -> Sequence[Line]:
        """The lines that match the search."""
        return matching(self.texts(self.size.width - 4), self.words)

    def title(self, num_found: int, num_below: int, width: int) -> Line:
        """The words in the frame, for `num_found` lines of which `num_below` are below the view."""
        title: Line = [(str(self.id), "text")]
        if self.words:
            title.append((f"  /{' '.join(self.words)}: {counted(num_found, 'line')}", "focus"))
        if num_below:
            title.append((f"  {num_below} newer below", "dim"))
        return title

    def draw(self, width: int, height: int) -> list[Line]:
        head, lines = self.head(width - 4), self.found()
        room = max(0, height - 2 - len(head))
        start, end = self._span(len(lines), room)
        excuse = "nothing found" if self.words else self.excuse
        body = list(lines[start:end]) or [
            [(row, "dim")] for row in textwrap.wrap(excuse, max(8, width - 4))
        ]
        title = self.title(len(lines), len(lines) - end, width)
        drawn = boxed(title, [*head, *body], width, height, self.border)
        for y, mark in enumerate(scrollbar(start, room, len(lines), room), 1 + len(head)):
            if len(lines) > room and width > 4:
                drawn[y] = [*drawn[y][:-1], (drawn[y][-1][0][:-1], self.border), *mark]
        return drawn

    def line_at(self, y: int) -> int | None:
        """Which of the lines found stands in row `y` of the pane; None if it has none."""
        start, end = self._span(len(self.found()), self._room)
        return start + y - 1 if 0 <= y - 1 < end - start else None

    @property
    def _room(self) -> int:
        return max(0, self.size.height - 2 - len(self.head(self.size.width - 4)))

    def _span(self, num_lines: int, room: int) -> tuple[int, int]:
        """The lines to show: the first, and the one after the last."""
        end = num_lines - min(self.lines_back, max(0, num_lines - room))
        return max(0, end - room), end

    def on_mount(self) -> None:
        self.set_reactive(ScrollingPane.lines_back, self.starts_at)

    def action_scroll(self, lines: int) -> None:
        """Go `lines` lines up; down if it is negative."""
        last = max(0, len(self.found()) - self._room)
        self.lines_back = max(0, min(min(self.lines_back, last) + lines, last))

    def watch_lines_back(self) -> None:
        self.redraw()

    def watch_words(self) -> None:
        self.set_reactive(ScrollingPane.lines_back, self.starts_at)
        self.redraw()

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(1)

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(-1)
