"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from ...shared.run_folder import Run, runs_folder
from ..look.lines import Line
from ..look.scroll import scrollbar, window_start
from ..runs.comparison import Comparison
from ..runs.run_table import draw_head, draw_row, order_under
from ..runs.runs_poller import RunRow
from .drawing import Drawing


class RunsTable(Drawing, can_focus=True):
    """A row for each run, newest first. The selected run stays selected when others come."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "select a run"),
        Binding("down", "move(1)", "select a run"),
        Binding("pageup", "move_pages(-1)", "a page up or down"),
        Binding("pagedown", "move_pages(1)", "a page up or down"),
        Binding("home", "move(-100000)", "the first, the last run"),
        Binding("end", "move(100000)", "the first, the last run"),
        Binding("enter", "open", "open it, with those marked"),
        Binding("space", "mark(False)", "mark: draw it on the charts of others"),
        Binding("p", "mark(True)", "pin as the reference to compare with"),
    ]

    selected: var[Run | None] = var(None, init=False)

    class Opened(Message):
        """Somebody wants to see `run`."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run = run

    class Marked(Message):
        """Somebody wants `run` on the charts of others, as the reference or no longer."""

        def __init__(self, run: Run, is_reference: bool) -> None:
            super().__init__()
            self.run, self.is_reference = run, is_reference

    class Ordered(Message):
        """Somebody wants the list by `order`."""

        def __init__(self, order: str) -> None:
            super().__init__()
            self.order = order

    def __init__(self, selected: Run | None = None) -> None:
        super().__init__(id="runs")
        self.set_reactive(RunsTable.selected, selected)
        self._rows: tuple[RunRow, ...] | None = None
        self._comparison = Comparison()
        self._order = ("newest", False)
        self._is_filtered = False
        self._start = self._last_place = 0

    def show(
        self,
        rows: Sequence[RunRow],
        comparison: Comparison,
        order: tuple[str, bool],
        is_filtered: bool = False,
    ) -> None:
        """Draw `rows`, which are in `order`: a column, and whether the other way round."""
        self._rows, self._comparison, self._order = tuple(rows), comparison, order
        self._is_filtered = is_filtered
        if self.selected not in [row.run for row in rows]:
            # Gone, or nothing was selected yet: take what stands at its place.
            place = min(self._place, len(rows) - 1)
            self.selected = rows[place].run if rows else None
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if self._rows is None:
            return [[], [("   looking for runs", "dim")]]
        if not self._rows:
            return _nothing_found() if self._is_filtered else _nothing_yet()
        self._start = window_start(self._place, self._start, height - 1, len(self._rows))
        shown = self._rows[self._start : self._start + height - 1]
        lines = [
            draw_row(row, width - 1, row.run == self.selected, _mark(self._comparison, row.run))
            for row in shown
        ]
        bar = scrollbar(self._start, height - 1, len(self._rows), height - 1)
        rows = [line + mark for line, mark in zip(lines, bar, strict=False)]
        return [draw_head(width - 1, *self._order), *rows]

    def action_move(self, rows: int) -> None:
        """Select the run that many rows below; above where it is negative."""
        if self._rows:
            place = max(0, min(self._place + rows, len(self._rows) - 1))
            self.selected = self._rows[place].run

    def action_move_pages(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def action_open(self) -> None:
        if self.selected:
            self.post_message(self.Opened(self.selected))

    def action_mark(self, is_reference: bool) -> None:
        if self.selected:
            self.post_message(self.Marked(self.selected, is_reference))

    def watch_selected(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        if event.y == 0 and self._rows:
            order = order_under(self.size.width - 1, event.x)
            if order:
                self.post_message(self.Ordered(order))
            return
        place = self._start + event.y - 1
        if self._rows and 0 <= place < len(self._rows):
            is_again = self.selected == self._rows[place].run
            self.selected = self._rows[place].run
            if is_again:
                self.action_open()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    @property
    def _place(self) -> int:
        """The row of the selected run; where it was before while it is gone."""
        for place, row in enumerate(self._rows or ()):
            if row.run == self.selected:
                self._last_place = place
        return self._last_place


def _mark(comparison: Comparison, run: Run) -> str:
    """How a run stands out in the list."""
    if run == comparison.reference:
        return "◆"
    return "+" if run in comparison.marked else " "


def _nothing_found() -> list[Line]:
    return [[], [("   No run fits the filter.", "strong")], [("   esc drops it", "dim")]]


def _nothing_yet() -> list[Line]:
    """What to say, and what to do, when there is no run."""
    return [
        [],
        [("   There are no runs yet.", "strong")],
        [],
        [("   Start one:  ", "dim"), ("operant train", "text")],
        [("   It shows here as soon as it starts.", "dim")],
        [],
        [(f"   Runs are kept in {runs_folder()}", "dim")],
    ]
