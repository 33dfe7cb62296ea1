"""The pane that shows where the time of an iteration goes."""

from __future__ import annotations

from ..panels.hints import Hint
from ..panels.phases import (
    NUM_ITERATIONS,
    Phase,
    draw_history,
    draw_phases,
    phases_over_time,
    recent_phases,
)
from ..panels.publish_cost import PublishCost, publish_cost
from ..render.lines import Line, boxed, fit
from ..runs.reading.run_view import RunView
from .pane import Pane

_HISTORY_HEIGHT = 4  # rows at least; below them the history says little


class TimePanel(Pane):
    """The phases of an iteration as a stacked bar with numbers, over the run where there is room,
    what publishing costs, and a hint where one thing takes most of the time.
    """

    def __init__(self) -> None:
        super().__init__(id="time")
        self._view: RunView | None = None
        self._phases: list[Phase] = []
        self._cost = PublishCost(0)
        self._hint: Hint | None = None

    @property
    def has_phases(self) -> bool:
        return bool(self._phases)

    def show(self, view: RunView, hint: Hint | None = None) -> None:
        """Draw `view` and `hint`, if anything was published since, or another thing is to try."""
        if self._view and view.history is self._view.history and hint == self._hint:
            return
        self._view, self._hint = view, hint
        self._phases = recent_phases(view.schema, view.history)
        self._cost = publish_cost(view)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [("where the time goes", "text")]
        if width >= 62:
            title.append((f"  mean of the last {NUM_ITERATIONS} iterations", "dim"))
        room = height - 2
        rows = room - 1 if room >= 4 else room
        body = self._body(width - 4, rows)
        if len(body) < room:
            body = self._with_hint(body, width - 4, room - 1)
            body = [*body, *([] for _ in range(room - 1 - len(body)))]
            body.append([(fit(self._cost.in_words(width - 4), width - 4), "dim")])
        return boxed(title, body, width, height, self.border)

    def _body(self, width: int, rows: int) -> list[Line]:
        if not self._phases or self._view is None:
            return [[("the run does not tell", "dim")]]
        body = draw_phases(self._phases, width, min(rows, 1 + len(self._phases)))
        rest = rows - len(body) - 1
        if rest >= _HISTORY_HEIGHT:
            columns = phases_over_time(self._view.schema, self._view.history, width)
            body += [[("over the run", "dim")], *draw_history(columns, width, rest)]
        return body

    def _with_hint(self, body: list[Line], width: int, rows: int) -> list[Line]:
        """`body`, and in the last of `rows` the hint, where that costs none of its numbers."""
        words = self._hint.in_words(width) if self._hint else ""
        if not words:
            return body
        if len(body) >= rows:
            shorter = self._body(width, rows - 1)
            if len(shorter) >= rows or _said(shorter) != _said(body):
                return body
            body = shorter
        return [*body, *([] for _ in range(rows - 1 - len(body))), [(words, "focus")]]


def _said(lines: list[Line]) -> list[str]:
    """All names and numbers of `lines`, wherever they stand."""
    pieces = (text.strip() for line in lines for text, style in line if "block" not in style)
    return sorted(filter(None, pieces))
