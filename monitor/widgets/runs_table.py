"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.runs.run_folder import Run, runs_folder
from ..charts.charted_metrics import main_heading, main_metric
from ..panels.run_table import draw_head, draw_row, machine_width, order_under
from ..render.lines import Line
from ..runs.list.comparison import Comparison
from ..runs.list.runs_poller import RunRow
from .row_list import RowList


class RunsTable(RowList):
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
        super().__init__("runs", selected)
        self._rows: tuple[RunRow, ...] | None = None
        self._comparison = Comparison[Run]()
        self._reference: RunRow | None = None
        self._order = ("newest", False)
        self._is_filtered = False
        self._hosts: tuple[str, ...] = ()
        self._main = "return"

    def show(
        self,
        rows: Sequence[RunRow],
        comparison: Comparison[Run],
        order: tuple[str, bool],
        is_filtered: bool = False,
        hosts: Sequence[str] = (),
    ) -> None:
        """Draw `rows`, which are in `order`: a column, and whether the other way round. `hosts` are
        the machines beside this one.
        """
        self._rows, self._comparison, self._order = tuple(rows), comparison, order
        self._is_filtered, self._hosts = is_filtered, tuple(hosts)
        self._reference = next((row for row in rows if row.run == comparison.reference), None)
        self._main = main_heading(main_metric(row.status.metrics) for row in rows if row.status)
        self.show_keys([row.run for row in rows])

    @property
    def run(self) -> Run | None:
        """The run that is selected."""
        return self.selected if isinstance(self.selected, Run) else None

    def draw(self, width: int, height: int) -> list[Line]:
        if self._rows is None:
            return [[], [("   looking for runs", "dim")]]
        if not self._rows:
            return nothing_found() if self._is_filtered else _nothing_yet(self._hosts)
        return self.draw_rows(width, height)

    def draw_row_at(self, place: int, width: int, is_selected: bool) -> Line:
        assert self._rows
        row = self._rows[place]
        mark = _mark(self._comparison, row.run)
        machine = machine_width(self._hosts)
        return draw_row(row, width, is_selected, mark, self._order[0], machine, self._reference)

    def draw_head_row(self, width: int) -> Line:
        machine, has_reference = machine_width(self._hosts), self._reference is not None
        return draw_head(width, *self._order, machine, self._main, has_reference)

    def action_open(self) -> None:
        if self.run:
            self.post_message(self.Opened(self.run))

    def action_mark(self, is_reference: bool) -> None:
        if self.run:
            self.post_message(self.Marked(self.run, is_reference))

    def click_head(self, column: int) -> None:
        machine, has_reference = machine_width(self._hosts), self._reference is not None
        order = order_under(self.size.width - 1, column, self._order[0], machine, has_reference)
        if order:
            self.post_message(self.Ordered(order))


def _mark(comparison: Comparison[Run], run: Run) -> str:
    """How a run stands out in the list."""
    if run == comparison.reference:
        return "◆"
    return "+" if run in comparison.marked else " "


def nothing_found() -> list[Line]:
    return [[], [("   No run fits the filter.", "strong")], [("   esc drops it", "dim")]]


def _nothing_yet(hosts: Sequence[str]) -> list[Line]:
    """What to say, and what to do, when there is no run."""
    if hosts:
        return [[], [(f"   No runs are known yet of {', '.join(hosts)}.", "strong")]]
    return [
        [],
        [("   There are no runs yet.", "strong")],
        [],
        [("   Start one:       ", "dim"), ("operant train", "text")],
        [("   Any other loop:  ", "dim"), ("operant capture -- python train.py", "text")],
        [("   It shows here as soon as it starts.", "dim")],
        [],
        [(f"   Runs are kept in {runs_folder()}", "dim")],
    ]
