"""The upper rows of a run's screen."""

from __future__ import annotations

from ..lines import Line
from ..run_summary import draw_notice, draw_numbers, draw_progress, draw_title
from ..run_view import RunView
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
        self._view: RunView | None = None

    def show(self, view: RunView) -> None:
        self._view = view
        has_notice = draw_notice(view, 80) is not None
        if self.display != has_notice:
            self.display = has_notice
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        line = draw_notice(self._view, width) if self._view else None
        return [line] if line else []
