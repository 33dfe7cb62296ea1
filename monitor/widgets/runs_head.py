"""The rows above the list of runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..charts.charted_metrics import RETURN, main_heading, main_metric
from ..panels.run_table import draw_count
from ..render.lines import Line, fit, line_width, spread
from ..runs.list.runs_poller import Machine, RunRow
from .drawing import Drawing

_MOST_LINES = 6  # of machines that do not answer


class RunsHead(Drawing):
    """What this is, how many runs there are, how many of them a filter leaves, and the metric that
    the list shows, where it is the same for all.
    """

    def __init__(self) -> None:
        super().__init__(id="runs-head")
        self._count = self._metric = self._filter = self._warning = self._grouped_by = ""

    def show(
        self,
        rows: Sequence[RunRow],
        num_shown: int,
        filter_text: str = "",
        warning: str = "",
        grouped_by: str = "",
    ) -> None:
        self._count = draw_count(rows) if rows else ""
        mains = {main_metric(row.status.metrics) for row in rows if row.status}
        if filter_text:
            self._count = f"{num_shown} of {self._count}"
        # Else each row names its metric.
        self._metric = RETURN if RETURN in mains and main_heading(mains) == "return" else ""
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
        right: Line = [(f"{self._count} ", "bar_dim")]
        metric: Line = [(f"{self._metric} · " if self._metric else "", "bar_dim")]
        if line_width([*title, *metric, *right]) < width:
            right = [*metric, *right]
        return [spread(title, right, width, "bar_text")]


class MachineLines(Drawing):
    """A line for each machine that nothing new comes from, with why; no room where all answer."""

    def __init__(self) -> None:
        super().__init__(id="machines")
        self._silent: tuple[Machine, ...] = ()
        self._height = 0

    def show(self, machines: Sequence[Machine]) -> None:
        self._silent = tuple(machine for machine in machines if machine.trouble)
        height = min(len(self._silent), _MOST_LINES)
        if height != self._height:
            self._height = height
            self.display = bool(height)
            self.styles.height = height
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        lines: list[Line] = []
        for machine in self._silent[:height]:
            host = f" ▲ {machine.host}: "
            text = machine.trouble.removeprefix(f"{machine.host}: ")
            lines.append(
                [(host, "bar_warning"), (fit(text, max(0, width - len(host))), "bar_text")]
            )
        if len(self._silent) > height > 0:
            left = len(self._silent) - height + 1
            lines[-1] = [(fit(f" ▲ {left} more machines do not answer", width), "bar_warning")]
        return lines
