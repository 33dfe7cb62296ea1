"""The trials of a sweep, as a table or as pictures."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.runs.run_folder import Run, runs_folder
from ...shared.runs.sweep_table import SweepTrial
from ..render.lines import Line
from ..sweeps.lines import draw_head, draw_importances, draw_trial, draw_values, ranked
from ..sweeps.plots import draw_history, draw_parallel, draw_slices, has_pictures
from ..sweeps.sweeps_poller import SweepView
from .row_list import RowList

# None is the table.
_VIEWS = (None, draw_history, draw_slices, draw_parallel)


class TrialsTable(RowList):
    """A row for each trial, the best first, or a picture of all of them; below it all of the one
    that is selected, and what matters. The selected trial stays selected when others come.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "select a trial"),
        Binding("down", "move(1)", "select a trial"),
        Binding("pageup", "move_pages(-1)", "a page up or down"),
        Binding("pagedown", "move_pages(1)", "a page up or down"),
        Binding("home", "move(-100000)", "the first, the last trial"),
        Binding("end", "move(100000)", "the first, the last trial"),
        Binding("enter", "open", "open its run"),
        Binding("s", "sort", "by score, or in the order they began"),
        Binding("v", "next_view", "table, history, slices, parallel coordinates"),
    ]

    class Opened(Message):
        """Somebody wants to see a trial's runs; the first of them leads."""

        def __init__(self, runs: list[Run]) -> None:
            super().__init__()
            self.runs = runs

    def __init__(self) -> None:
        super().__init__(id="trials")
        self._view = SweepView()
        self._has_looked = False
        self._order, self._views = "score", deque(_VIEWS)
        self._trials: list[SweepTrial] = []

    def show(self, view: SweepView) -> None:
        if view.sweep != self._view.sweep:
            self.set_reactive(RowList.selected, None)
            self._last_place = 0
        self._view, self._has_looked = view, True
        self._arrange()

    def draw(self, width: int, height: int) -> list[Line]:
        table = self._view.table
        if table is None:
            return _nothing(self._view.error if self._has_looked else "")
        below = self._below(width, height - 1)
        if draw := self._views[0]:
            if not has_pictures(table):
                return [[], [("   no trial has finished yet", "dim")]]
            return [*draw(table, self.selected, width, height - len(below)), *below]
        rows = self.draw_rows(width, height - len(below))
        rows += [[] for _ in range(height - len(below) - len(rows))]
        return [*rows, *below]

    def draw_head_row(self, width: int) -> Line:
        assert self._view.table
        return draw_head(self._view.table, width)

    def draw_row_at(self, place: int, width: int, is_selected: bool) -> Line:
        assert self._view.table
        return draw_trial(
            self._trials[place], self._view.table, self._view.state, width, is_selected
        )

    def click_head(self, column: int) -> None:
        self.action_sort()

    def action_move_pages(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height // 2))

    def action_open(self) -> None:
        for trial in self._trials:
            if trial.number == self.selected:
                runs = [Run(runs_folder() / run_id) for run_id in trial.runs]
                there = [run for run in runs if run.folder.is_dir()]
                if there:
                    self.post_message(self.Opened(there))
                else:
                    self.app.notify(f"trial {trial.number} has no run that could be shown")

    def action_sort(self) -> None:
        self._order = "number" if self._order == "score" else "score"
        self._arrange()

    def action_next_view(self) -> None:
        self._views.rotate(-1)
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        if not self._views[0]:
            super().on_click(event)

    def _arrange(self) -> None:
        self._trials = ranked(self._view.table, self._order) if self._view.table else []
        self.show_keys([trial.number for trial in self._trials])

    def _below(self, width: int, height: int) -> list[Line]:
        """What stands under the trials, as far as these keep half of the room."""
        table = self._view.table
        if table is None:
            return []
        chosen = [trial for trial in self._trials if trial.number == self.selected]
        values = draw_values(chosen[0], table, width) if chosen else []
        blocks = [values, draw_importances(table, width)]
        lines: list[Line] = []
        for block in blocks:
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
