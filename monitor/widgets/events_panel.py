"""What happened in a run."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import var

from ...shared import Event
from ..event_lines import brief_lines, full_lines
from ..lines import Line, boxed
from ..run_view import RunView
from ..scroll import scrollbar
from .pane import Pane


class EventsPanel(Pane):
    """The events of a run, newest last: a line each, or in full when enlarged."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll(1)", "older and newer events"),
        Binding("down", "scroll(-1)", "older and newer events"),
        Binding("pageup", "scroll(10)", "ten older, ten newer lines"),
        Binding("pagedown", "scroll(-10)", "ten older, ten newer lines"),
        Binding("home", "scroll(100000)", "the oldest, the newest event"),
        Binding("end", "scroll(-100000)", "the oldest, the newest event"),
    ]

    # Lines between the end of what is shown and the newest one; 0 follows what comes.
    lines_back: var[int] = var(0, init=False)

    def __init__(self) -> None:
        super().__init__(id="events")
        self._events: tuple[Event, ...] = ()

    def show(self, view: RunView) -> None:
        """Draw `view`, if anything happened since the last one."""
        if view.events == self._events:
            return
        before = len(self._texts(self.size.width))
        self._events = view.events
        if self.lines_back:  # somebody reads older ones: let them stand
            self.lines_back += max(0, len(self._texts(self.size.width)) - before)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        lines = self._texts(width)
        room = max(0, height - 2)
        back = min(self.lines_back, max(0, len(lines) - room))
        end = len(lines) - back
        start = max(0, end - room)
        title: Line = [("events", "text")]
        if back:
            title.append((f"  {back} newer below", "dim"))
        body = lines[start:end] or [[("nothing happened yet", "dim")]]
        drawn = boxed(title, body, width, height, self.border)
        for y, mark in enumerate(scrollbar(start, room, len(lines), room)):
            if len(lines) > room and width > 4:
                drawn[1 + y] = [*drawn[1 + y][:-1], (drawn[1 + y][-1][0][:-1], self.border), *mark]
        return drawn

    def action_scroll(self, lines: int) -> None:
        """Go `lines` lines back; forward where it is negative."""
        last = max(0, len(self._texts(self.size.width)) - (self.size.height - 2))
        self.lines_back = max(0, min(self.lines_back + lines, last))

    def watch_lines_back(self) -> None:
        self.redraw()

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(1)

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(-1)

    def _texts(self, width: int) -> list[Line]:
        as_lines = full_lines if self.is_enlarged else brief_lines
        return as_lines(self._events, width - 4)
