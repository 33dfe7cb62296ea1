"""The uppermost row of the list of runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..panels.run_table import draw_count
from ..render.lines import Line, spread
from ..runs.list.runs_poller import RunRow
from .drawing import Drawing


class RunsHead(Drawing):
    """What this is, how many runs there are, and how many of them a filter leaves."""

    def __init__(self) -> None:
        super().__init__(id="runs-head")
        self._count = self._filter = self._warning = self._grouped_by = ""

    def show(
        self,
        rows: Sequence[RunRow],
        num_shown: int,
        filter_text: str = "",
        warning: str = "",
        grouped_by: str = "",
    ) -> None:
        self._count = draw_count(rows) if rows else ""
        if filter_text:
            self._count = f"{num_shown} of {self._count}"
        self._filter, self._warning, self._grouped_by = filter_text, warning, grouped_by
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [(" operant", "bar_strong"), ("  runs", "bar_dim")]
        if self._grouped_by:
            title.append((f"  by {self._grouped_by}", "bar_focus"))
        if self._filter:
            title.append((f"  /{self._filter}", "bar_focus"))
        if self._warning:
            title.append((f"  ▲ {self._warning}", "bar_warning"))
        return [spread(title, [(f"{self._count} ", "bar_dim")], width, "bar_text")]
