"""The trials of a sweep, as a table or as pictures."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from ..render.lines import Line
from ..sweeps.lines import draw_importances, draw_values, ranked, trial_columns
from ..sweeps.plots import draw_history, draw_parallel, draw_slices, has_pictures
from ..sweeps.sweeps_poller import SweepView
from .list_table import ListTable

# None is the table.
_VIEWS = (None, draw_history, draw_slices, draw_parallel)


class TrialsTable(ListTable):
    """The trials, the best first, or a picture of all of them; below it the values of the one that
    is selected, and the importance of each key.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "by score, or in the order they began"),
        Binding("v", "next_view", "table, history, slices, parallel coordinates"),
    ]

    def __init__(self) -> None:
        super().__init__("trials")
        self._view = SweepView()
        self._has_looked = False
        self._by, self._views = "score", deque(_VIEWS)

    def show(self, view: SweepView) -> None:
        if view.sweep != self._view.sweep:
            self.set_reactive(ListTable.selected, None)
            self._last_place = 0
        self._view, self._has_looked = view, True
        self.sort_by(self._by)

    def sort_by(self, order: str) -> None:
        self._by, table = order, self._view.table
        if table is None:
            self.show_rows({}, (), empty=_nothing(self._view.error if self._has_looked else ""))
            return
        trials = {trial.number: trial for trial in ranked(table, order)}
        nothing: list[Line] = [[], [("   no trial has begun yet", "dim")]]
        self.show_rows(trials, trial_columns(table, self._view.state), empty=nothing)

    def draw(self, width: int, height: int) -> list[Line]:
        table = self._view.table
        if table is None:
            return super().draw(width, height)
        below = self._below(width, height - 1)
        if draw := self._views[0]:
            if not has_pictures(table):
                return [[], [("   no trial has finished yet", "dim")]]
            return [*draw(table, self.selected, width, height - len(below)), *below]
        rows = super().draw(width, height - len(below))
        rows += [[] for _ in range(height - len(below) - len(rows))]
        return [*rows, *below]

    def action_move_pages(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height // 2))

    def action_sort(self) -> None:
        self.sort_by("number" if self._by == "score" else "score")

    def action_next_view(self) -> None:
        self._views.rotate(-1)
        self.redraw()

    def on_list_table_ordered(self, message: ListTable.Ordered) -> None:
        self.sort_by(message.order)

    def on_click(self, event: events.Click) -> None:
        if self._views[0]:
            event.prevent_default()  # a picture has no rows

    def _below(self, width: int, height: int) -> list[Line]:
        """The lines under the trials, which keep half of the room."""
        table, trial = self._view.table, self.row
        if table is None:
            return []
        lines: list[Line] = []
        values = draw_values(trial, table, width) if trial else []
        for block in (values, draw_importances(table, width)):
            wanted = 1 + len(block)
            if block and height - len(lines) - wanted >= height // 2:
                lines += [[("─" * width, "faint")], *block]
        return lines


def _nothing(error: str) -> list[Line]:
    if not error:
        return [[], [("   looking for sweeps", "dim")]]
    return [
        [],
        [(f"   {error}", "strong")],
        [],
        [("   Start one:  ", "dim"), ("operant sweep CONFIG --param KEY=LOW:HIGH", "text")],
    ]
