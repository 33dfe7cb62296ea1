"""Which of several runs is which."""

from __future__ import annotations

from collections.abc import Sequence

from ..charts.shown_run import Watched
from ..look.lines import Line, line_width
from ..runs.run_table import short_name
from .drawing import Drawing


class Legend(Drawing):
    """A row with marker, colour and name of every run; it is there only for several."""

    def __init__(self) -> None:
        super().__init__(id="legend")
        self._watched: tuple[Watched, ...] = ()

    def show(self, watched: Sequence[Watched]) -> None:
        names = [(one.view.name, one.look, one.is_reference) for one in watched]
        if names != [(one.view.name, one.look, one.is_reference) for one in self._watched]:
            self._watched = tuple(watched)
            self.display = len(watched) > 1
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [(" ", "text")]
        room = max(8, width // max(1, len(self._watched)) - 5)
        for one in self._watched:
            if one.look is None:
                continue
            name = short_name(one.view.name, room - 4 * one.is_reference)
            piece: Line = [(f"{one.look.marker} ", one.look.style), (name, "text")]
            if one.is_reference:
                piece.append((" ref", "dim"))
            if line_width(line) + line_width(piece) <= width:
                line += [*piece, ("  ", "text")]
        return [line]
