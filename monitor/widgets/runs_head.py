"""The uppermost row of the list of runs."""

from __future__ import annotations

from ..lines import Line, spread
from ..run_table import draw_count
from ..runs_poller import RunsView
from .drawing import Drawing


class RunsHead(Drawing):
    """What this is, and how many runs there are."""

    def __init__(self) -> None:
        super().__init__(id="runs-head")
        self._count = ""

    def show(self, view: RunsView) -> None:
        self._count = draw_count(view.rows) if view.rows else ""
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [(" operant", "bar_strong"), ("  runs", "bar_dim")]
        return [spread(title, [(f"{self._count} ", "bar_dim")], width, "bar_text")]
