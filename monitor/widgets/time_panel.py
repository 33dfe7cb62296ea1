"""Where the time goes."""

from __future__ import annotations

from ..look.lines import Line, boxed, fit
from ..panels.phases import (
    NUM_ITERATIONS,
    Phase,
    draw_history,
    draw_phases,
    phases_over_time,
    recent_phases,
)
from ..panels.publish_cost import PublishCost, publish_cost
from ..runs.run_view import RunView
from .pane import Pane

_HISTORY_HEIGHT = 4  # rows at least; below them the history says little


class TimePanel(Pane):
    """The phases of an iteration as a stacked bar with numbers, over the run where there is room,
    and what publishing costs.
    """

    def __init__(self) -> None:
        super().__init__(id="time")
        self._view: RunView | None = None
        self._phases: list[Phase] = []
        self._cost = PublishCost(0)

    @property
    def has_phases(self) -> bool:
        return bool(self._phases)

    def show(self, view: RunView) -> None:
        """Draw `view`, if anything was published since."""
        if self._view and view.history is self._view.history:
            return
        self._view = view
        self._phases = recent_phases(view.schema, view.history)
        self._cost = publish_cost(view)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [("where the time goes", "text")]
        if width >= 62:
            title.append((f"  mean of the last {NUM_ITERATIONS} iterations", "dim"))
        room = height - 2
        body = self._body(width - 4, room)
        if len(body) < room or room >= 4:
            body = [*body[: room - 1], *([] for _ in range(room - 1 - len(body)))]
            body.append([(fit(self._cost.in_words(width - 4), width - 4), "dim")])
        return boxed(title, body, width, height, self.border)

    def _body(self, width: int, room: int) -> list[Line]:
        num_rows = 1 + len(self._phases)
        if not self._phases or self._view is None:
            return [[("the run does not tell", "dim")]]
        body = draw_phases(self._phases, width, min(room - 1 if room >= 4 else room, num_rows))
        rest = room - len(body) - 2
        if rest >= _HISTORY_HEIGHT:
            columns = phases_over_time(self._view.schema, self._view.history, width)
            body += [[("over the run", "dim")], *draw_history(columns, width, rest)]
        return body
