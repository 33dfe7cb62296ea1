"""What a run was run with, and where runs on the same charts differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import var

from ..charts.shown_run import Watched
from ..look.lines import Line, boxed, line_width
from ..look.scroll import scrollbar
from ..panels.config_lines import difference_lines, in_words, num_more, own_lines
from ..panels.event_lines import matching
from .pane import Pane


class ConfigPanel(Pane):
    """The configuration of the run, what is not by default first; of several runs above it a table
    of the keys and the newest values that differ.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "a line up, down"),
        Binding("down,j", "scroll(1)", "a line up, down"),
        Binding("pageup", "scroll(-10)", "ten lines up, down"),
        Binding("pagedown", "scroll(10)", "ten lines up, down"),
        Binding("home,g", "scroll(-100000)", "to the top, the bottom"),
        Binding("end,G", "scroll(100000)", "to the top, the bottom"),
    ]

    first: var[int] = var(0, init=False)
    words: var[tuple[str, ...]] = var((), init=False)
    problem = ""  # any words can be looked for

    def __init__(self) -> None:
        super().__init__(id="config")
        self._watched: tuple[Watched, ...] = ()
        self._known: tuple[object, ...] = ()
        self._texts: tuple[list[Line], list[Line]] = ([], [])

    def show(self, watched: Sequence[Watched]) -> None:
        """Draw what is known of the runs, the first of which the screen is about."""
        self._watched = tuple(watched)
        if self.display:
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        head, body = self._parts(width - 4)
        body = matching(body, self.words)
        room = max(0, height - 2 - len(head))
        start = min(self.first, max(0, len(body) - room))
        excuse = "nothing found" if self.words else "nothing is known of its configuration"
        shown = body[start : start + room] or [[(excuse, "dim")]]
        drawn = boxed(self._title(len(body), width), [*head, *shown], width, height, self.border)
        top = 1 + len(head)
        for y, mark in enumerate(scrollbar(start, room, len(body), room)):
            if len(body) > room and width > 4:
                line = drawn[top + y]
                drawn[top + y] = [*line[:-1], (line[-1][0][:-1], self.border), *mark]
        return drawn

    def action_scroll(self, lines: int) -> None:
        head, body = self._parts(self.size.width - 4)
        room = max(0, self.size.height - 2 - len(head))
        last = max(0, len(matching(body, self.words)) - room)
        self.first = max(0, min(self.first + lines, last))

    def watch_first(self) -> None:
        self.redraw()

    def watch_words(self) -> None:
        self.set_reactive(ConfigPanel.first, 0)
        self.redraw()

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(-1)

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(1)

    def _parts(self, width: int) -> tuple[list[Line], list[Line]]:
        """The lines that stay and those that scroll, worked out again once there is news."""
        views = [one.view for one in self._watched]
        known = (width, *((id(v.description), v.notes, v.publish, v.status.run) for v in views))
        if known != self._known:
            self._known, self._texts = known, self._worked_out(width)
        return self._texts

    def _worked_out(self, width: int) -> tuple[list[Line], list[Line]]:
        if not self._watched:
            return [], []
        view = self._watched[0].view
        own = own_lines(view, width)
        if len(self._watched) == 1:
            return [], own
        head, table = difference_lines(self._watched, width)
        return head, [*table, [], [(f"all of {view.name}", "dim")], *own]

    def _title(self, num_found: int, width: int) -> Line:
        title: Line = [("configuration", "text")]
        words = in_words(self._watched[0].view) if self._watched else ""
        if len(self._watched) > 1:
            words = f"where {len(self._watched)} runs differ"
            more = num_more(self._watched, width - 4)
            words += f", {more} of them without room" if more else ""
        if self.words:
            title.append((f"  /{' '.join(self.words)}: {num_found} lines", "focus"))
        elif words and line_width(title) + len(words) + 8 <= width:
            title.append((f"  {words}", "dim"))
        return title
