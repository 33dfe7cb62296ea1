"""Which of several runs is which."""

from __future__ import annotations

from collections.abc import Sequence

from ..charts.shown_run import Watched
from ..panels.run_table import short_name
from ..render.lines import Line, line_width
from ..runs.list.comparison import MAX_RUNS
from .drawing import Drawing

_WIDE = 100  # from here it says why runs are left out


class Legend(Drawing):
    """A row with marker, colour and name of every run; it is there only for several."""

    def __init__(self) -> None:
        super().__init__(id="legend")
        self._watched: tuple[Watched, ...] = ()
        self._num_left_out = 0

    def show(self, watched: Sequence[Watched], num_left_out: int = 0) -> None:
        """The runs on the charts; `num_left_out` more were chosen."""
        names = [(one.view.name, one.look, one.is_reference) for one in watched]
        if names != [(one.view.name, one.look, one.is_reference) for one in self._watched]:
            self._watched, self._num_left_out = tuple(watched), num_left_out
            self.display = len(watched) > 1
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [(" ", "text")]
        left_out = self._left_out(width)
        runs = [one for one in self._watched if one.look]
        room = max(8, (width - line_width(left_out)) // max(1, len(runs)) - 5)
        for place, one in enumerate(runs):
            piece = _piece(one, room)
            num_more = len(runs) - place - 1
            more: Line = [(f"+{num_more + 1} more  ", "dim")]
            piece.append(("  ", "text"))
            needed = line_width(line) + line_width(piece) + line_width(left_out)
            if needed + (line_width(more) if num_more else 0) > width:
                line += more
                break
            line += piece
        return [[*line, *left_out]]

    def _left_out(self, width: int) -> Line:
        """What is said of runs that were chosen and are on no chart."""
        if not self._num_left_out:
            return []
        why = f": {MAX_RUNS} at most" if width >= _WIDE else ""
        return [(f"+{self._num_left_out} not drawn{why} ", "warning")]


def _piece(one: Watched, room: int) -> Line:
    """A run in about `room` cells; the reference is named so."""
    assert one.look
    name = short_name(one.view.name, room - 4 * one.is_reference)
    piece: Line = [(f"{one.look.marker} ", one.look.style), (name, "text")]
    return [*piece, (" ref", "focus")] if one.is_reference else piece
