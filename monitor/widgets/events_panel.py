"""What happened in a run."""

from __future__ import annotations

from collections.abc import Sequence

from ...shared import Event
from ..look.lines import Line
from ..panels.event_lines import brief_lines, full_lines
from .scrolling_pane import ScrollingPane


class EventsPanel(ScrollingPane):
    """The events and alerts of a run, newest last: a line each, or in full when enlarged."""

    def __init__(self) -> None:
        super().__init__(id="events")
        self._events: tuple[Event, ...] = ()

    def show(self, events: Sequence[Event]) -> None:
        """Draw `events`, if anything happened since the last time."""
        if tuple(events) != self._events:
            num_before = len(self.found()) if self.lines_back else 0
            self._events = tuple(events)
            self.changed(num_before)

    def texts(self, width: int) -> list[Line]:
        as_lines = full_lines if self.is_enlarged else brief_lines
        return as_lines(self._events, width)
