"""The head of the screen of groups: what the lines and the bands are, and which is which."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.cells import cell_len

from ..charts.charted_metrics import RETURN
from ..render.formatting import format_count, format_relative, format_value
from ..render.lines import Line, fit, fit_end, fit_line, line_width, spread
from ..runs.list.group_source import GroupLook, WatchedGroup
from ..runs.list.group_statistics import SPREAD_WORDS, Middle, Spread, interval_text, middle_of
from ..runs.list.run_groups import states_of
from .drawing import Drawing

_LABEL_WIDTH = 48


class GroupHead(Drawing):
    """A row for each group: its look, how many runs it has, how they do, and their returns."""

    def __init__(self, groups: Sequence[WatchedGroup]) -> None:
        super().__init__(id="group-head")
        self._groups = tuple(groups)
        self._looks: tuple[GroupLook, ...] = ()
        self._spread: Spread = "quartiles"
        self.styles.height = 1 + len(groups)

    def show(self, looks: Sequence[GroupLook], spread: Spread) -> None:
        self._looks, self._spread = tuple(looks), spread
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        count = "1 group" if len(self._groups) == 1 else f"{len(self._groups)} groups"
        words = {
            "error": "lines are means, bands ± standard error ",
            "iqm": "lines are interquartile means, bands 95% bootstrap intervals ",
        }.get(self._spread, f"lines are means, bands {SPREAD_WORDS[self._spread]} ")
        title = spread(
            [(" operant", "bar_strong"), (f"  {count}", "bar_dim")], [(words, "bar_focus")],
            width, "bar_text",
        )  # fmt: skip
        return [title, *(self._row(i, group, width) for i, group in enumerate(self._groups))]

    def _row(self, place: int, group: WatchedGroup, width: int) -> Line:
        look = group.look
        line: Line = [(f" {look.marker} " if look else " ", look.style if look else "text")]
        pieces = self._numbers(self._looks[place]) if place < len(self._looks) else []
        reference: Line = [(" ref", "dim")] if group.is_reference else []
        room = width - line_width(line) - line_width(reference)
        wanted = min(cell_len(group.name), _LABEL_WIDTH)
        while pieces and room - sum(map(line_width, pieces)) < wanted and len(pieces) > 1:
            pieces.pop()  # what is in the list as well goes where the name has no room
        tail = [*reference, *(part for piece in pieces for part in piece)]
        name_width = max(10, min(_LABEL_WIDTH, width - line_width(line) - line_width(tail)))
        line.append((fit(fit_end(group.name, name_width), name_width), "strong"))
        return fit_line([*line, *tail], width, "text")

    def _numbers(self, look: GroupLook) -> list[Line]:
        """States, return, its distance from the reference's, its interval, the number of runs with
        one, env steps: what matters most first.
        """
        statuses = [view.status for view in look.views]
        middle = self._return(look)
        steps = [status.env_steps for status in statuses if status.env_steps is not None]
        conditions = [(view.status, view.is_page_expected) for view in look.views]
        states = [(f"{sign}{count} ", style) for sign, style, count in states_of(conditions)]
        pieces: list[Line] = [[("  ", "text"), *states]]
        if middle:
            pieces.append([(f" return {format_value(middle.value)}", "text")])
            reference = next((one for one in self._looks if one.watched.is_reference), look)
            if reference is not look and (other := self._return(reference)):
                relative = format_relative(middle.value, other.value)
                pieces.append([(f" {relative}", "strong")])
            pieces.append([(f"  {interval_text(middle, self._spread)}", "dim")])
            pieces.append([(f"  n={middle.num_runs}", "dim")])
        if steps:
            ends = " to ".join(dict.fromkeys(map(format_count, (min(steps), max(steps)))))
            pieces.append([(f"  steps {ends}", "dim")])
        return pieces

    def _return(self, look: GroupLook) -> Middle | None:
        """Of the newest returns."""
        returns = [view.status.metrics.get(RETURN, math.nan) for view in look.views]
        return middle_of([value for value in returns if math.isfinite(value)], self._spread)
