"""Machines of the list of runs that do not answer."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.lines import Line, fit
from ..runs.list.runs_poller import Machine
from .drawing import Drawing

_MOST_LINES = 6


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
