"""The upper rows of a run's screen."""

from __future__ import annotations

from collections.abc import Sequence

from ..panels.run_summary import draw_notice, draw_numbers, draw_progress, draw_title
from ..render.lines import Line
from ..runs.reading.alerts import Alert
from ..runs.reading.run_view import RunView
from .drawing import Drawing


class RunHead(Drawing):
    """Name, state and age; the numbers everybody asks for; how far the run is."""

    def __init__(self) -> None:
        super().__init__(id="head")
        self._view: RunView | None = None

    def show(self, view: RunView) -> None:
        self._view = view
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if self._view is None:
            return []
        draws = (draw_title, draw_numbers, draw_progress)
        return [draw(self._view, width) for draw in draws]


class NoticeLine(Drawing):
    """A row that is there only while a run needs attention, or has a last word."""

    def __init__(self) -> None:
        super().__init__(id="notice")
        self._told: tuple[RunView, Sequence[Alert], str] | None = None

    def show(self, view: RunView, alerts: Sequence[Alert] = (), warning: str = "") -> None:
        """What the run itself says comes first, then `warning`, then the newest of `alerts`."""
        self._told = view, alerts, warning
        has_notice = draw_notice(view, 80, alerts, warning) is not None
        if self.display != has_notice:
            self.display = has_notice
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if self._told is None:
            return []
        view, alerts, warning = self._told
        line = draw_notice(view, width, alerts, warning)
        return [line] if line else []
