"""The trials of a sweep, as a table or as pictures."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from ...shared.runs.run_folder import Run, runs_folder
from ...shared.runs.sweep_table import SweepTrial
from ..render.lines import Line
from ..render.scroll import scrollbar, window_start
from ..sweeps.lines import draw_head, draw_importances, draw_trial, draw_values, ranked
from ..sweeps.plots import draw_history, draw_parallel, draw_slices, has_pictures
from ..sweeps.sweeps_poller import SweepView
from .drawing import Drawing

# None is the table.
_VIEWS = (None, draw_history, draw_slices, draw_parallel)


class TrialsTable(Drawing, can_focus=True):
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

    selected: var[int | None] = var(None, init=False)

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
        self._start = self._last_place = 0
        self._trials: list[SweepTrial] = []

    def show(self, view: SweepView) -> None:
        is_other = view.sweep != self._view.sweep
        self._view, self._has_looked = view, True
        self._arrange()
        numbers = [trial.number for trial in self._trials]
        if is_other or self.selected not in numbers:
            place = 0 if is_other else min(self._place, len(numbers) - 1)
            self.selected = numbers[place] if numbers else None
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        table = self._view.table
        if table is None:
            return _nothing(self._view.error if self._has_looked else "")
        below = self._below(width, height - 1)
        room = height - 1 - len(below)
        if draw := self._views[0]:
            if not has_pictures(table):
                return [[], [("   no trial has finished yet", "dim")]]
            return [*draw(table, self.selected, width, height - len(below)), *below]
        self._start = window_start(self._place, self._start, room, len(self._trials))
        shown = self._trials[self._start : self._start + room]
        lines = [
            draw_trial(trial, table, self._view.state, width - 1, trial.number == self.selected)
            for trial in shown
        ]
        bar = scrollbar(self._start, room, len(self._trials), room)
        rows = [line + mark for line, mark in zip(lines, bar, strict=False)]
        rows += [[] for _ in range(room - len(rows))]
        return [draw_head(table, width - 1), *rows, *below]

    def action_move(self, rows: int) -> None:
        """Select the trial that many rows below; above where it is negative."""
        if self._trials:
            place = max(0, min(self._place + rows, len(self._trials) - 1))
            self.selected = self._trials[place].number

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
        self.redraw()

    def action_next_view(self) -> None:
        self._views.rotate(-1)
        self.redraw()

    def watch_selected(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        place = self._start + event.y - 1
        if self._views[0]:
            return
        if event.y == 0:
            self.action_sort()
        elif self._start <= place < len(self._trials):
            is_again = self.selected == self._trials[place].number
            self.selected = self._trials[place].number
            if is_again:
                self.action_open()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    def _arrange(self) -> None:
        self._trials = ranked(self._view.table, self._order) if self._view.table else []

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

    @property
    def _place(self) -> int:
        for place, trial in enumerate(self._trials):
            if trial.number == self.selected:
                self._last_place = place
        return self._last_place


def _nothing(error: str) -> list[Line]:
    if not error:
        return [[], [("   looking for sweeps", "dim")]]
    return [
        [],
        [(f"   {error}", "strong")],
        [],
        [("   Start one:  ", "dim"), ("operant sweep CONFIG --param KEY=LOW:HIGH", "text")],
    ]
