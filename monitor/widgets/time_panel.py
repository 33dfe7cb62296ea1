"""Where the time goes."""

from __future__ import annotations

from ..lines import Line, boxed
from ..phases import NUM_ITERATIONS, Phase, draw_phases, recent_phases
from ..run_view import RunView
from .pane import Pane


class TimePanel(Pane):
    """The phases of an iteration as a stacked bar with numbers."""

    def __init__(self) -> None:
        super().__init__(id="time")
        self._phases: list[Phase] = []
        self._publish = -1

    def show(self, view: RunView) -> None:
        """Draw `view`, if anything was published since; vanish where no run tells of its time."""
        if view.publish == self._publish:
            return
        self._publish = view.publish
        self._phases = recent_phases(view.schema, view.history)
        has_phases = bool(self._phases)
        if self.display != has_phases:
            self.display = has_phases
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [("where the time goes", "text")]
        if width >= 56:
            title.append((f"  mean of the last {NUM_ITERATIONS} iterations", "dim"))
        body = draw_phases(self._phases, width - 4, height - 2)
        return boxed(title, body, width, height, self.border)
