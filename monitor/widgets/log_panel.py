"""What a run's process printed."""

from __future__ import annotations

from ..panels.event_lines import log_lines
from ..render.lines import Line
from .scrolling_pane import ScrollingPane


class LogPanel(ScrollingPane):
    """The end of a detached run's log, newest last."""

    excuse = "no log: it prints to the terminal it was started in"

    def __init__(self) -> None:
        super().__init__(id="log")
        self._log: tuple[str, ...] = ()
        self._drawn: tuple[int, list[Line]] = (0, [])

    def show(self, log: tuple[str, ...]) -> None:
        """Draw `log`, if anything was added since the last time."""
        if log is not self._log:
            num_before = len(self.found()) if self.lines_back else 0
            self._log, self._drawn = log, (0, [])
            self.changed(num_before)

    def texts(self, width: int) -> list[Line]:
        if self._drawn[0] != width:
            self._drawn = width, log_lines(self._log, width)
        return self._drawn[1]
