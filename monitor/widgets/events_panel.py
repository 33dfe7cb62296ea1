"""The pane of a run's events."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from ...shared import Event
from ..panels.event_lines import brief_lines, full_lines, matching
from ..render.lines import Line
from .scrolling_pane import ScrollingPane


class EventsPanel(ScrollingPane):
    """The events and alerts of a run, newest last: a line each, or in full when enlarged."""

    class Chosen(Message):
        """Somebody clicked an event."""

        def __init__(self, event: Event) -> None:
            super().__init__()
            self.event = event

    def __init__(self) -> None:
        super().__init__(id="events")
        self._events: tuple[Event, ...] = ()

    def show(self, events: Sequence[Event]) -> None:
        """Draw `events`, if anything happened since the last time."""
        if tuple(events) != self._events:
            num_before = len(self.found()) if self.lines_back else 0
            self._events = tuple(events)
            self.changed(num_before)

    def on_click(self, click: events.Click) -> None:
        """The line under the mouse stands for all of its event."""
        width = self.size.width - 4
        owners = [
            event
            for event in self._events
            for _ in matching(self._lines_of([event], width), self.words)
        ]
        line = self.line_at(click.y)
        if line is not None:
            self.post_message(self.Chosen(owners[line]))

    def texts(self, width: int) -> list[Line]:
        return self._lines_of(self._events, width)

    def _lines_of(self, some: Sequence[Event], width: int) -> list[Line]:
        return (full_lines if self.is_enlarged else brief_lines)(some, width)
