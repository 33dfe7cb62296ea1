"""The list of groups of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from ..charts.charted_metrics import main_heading
from ..look.lines import Line
from ..runs.comparison import Comparison
from ..runs.group_table import draw_group, draw_group_head, order_under_group
from ..runs.run_groups import GroupKey, RunGroup, Spread
from .row_list import RowList
from .runs_table import RunsTable, nothing_found


class GroupsTable(RowList):
    """A row for each group; in the place of the list of runs while they are grouped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "select a group"),
        Binding("down,j", "move(1)", "select a group"),
        Binding("pageup", "move_pages(-1)", "a page up or down"),
        Binding("pagedown", "move_pages(1)", "a page up or down"),
        Binding("home,g", "move(-100000)", "the first, the last group"),
        Binding("end,G", "move(100000)", "the first, the last group"),
        Binding("enter", "open", "open it, with those marked: mean and spread"),
        Binding("space", "mark(False)", "mark: draw its mean beside that of others"),
        Binding("p", "mark(True)", "pin as the reference to compare with"),
    ]

    class Opened(Message):
        """Somebody wants to see the group of `key`."""

        def __init__(self, key: GroupKey) -> None:
            super().__init__()
            self.key = key

    class Marked(Message):
        """Somebody wants the group on the charts of others, as the reference or no longer."""

        def __init__(self, key: GroupKey, is_reference: bool) -> None:
            super().__init__()
            self.key, self.is_reference = key, is_reference

    def __init__(self) -> None:
        super().__init__("groups")
        self._groups: tuple[RunGroup, ...] = ()
        self._comparison = Comparison[GroupKey]()
        self._order = ("newest", False)
        self._spread: Spread = "quartiles"
        self._main = "return"

    def show(
        self,
        groups: Sequence[RunGroup],
        comparison: Comparison[GroupKey],
        order: tuple[str, bool],
        spread: Spread,
    ) -> None:
        """Draw `groups`, which are in `order`: a column, and whether the other way round."""
        self._groups, self._comparison = tuple(groups), comparison
        self._order, self._spread = order, spread
        self._main = main_heading(group.main for group in groups)
        self.show_keys([group.key for group in groups])

    def draw(self, width: int, height: int) -> list[Line]:
        return self.draw_rows(width, height) if self._groups else nothing_found()

    def draw_row_at(self, place: int, width: int, is_selected: bool) -> Line:
        group = self._groups[place]
        mark = "+" if group.key in self._comparison.marked else " "
        mark = "◆" if group.key == self._comparison.reference else mark
        return draw_group(group, width, is_selected, mark, self._order[0], self._spread)

    def draw_head_row(self, width: int) -> Line:
        return draw_group_head(width, *self._order, self._spread, self._main)

    def action_open(self) -> None:
        if isinstance(self.selected, tuple):
            self.post_message(self.Opened(self.selected))

    def action_mark(self, is_reference: bool) -> None:
        if isinstance(self.selected, tuple):
            self.post_message(self.Marked(self.selected, is_reference))

    def click_head(self, column: int) -> None:
        order = order_under_group(self.size.width - 1, column, self._order[0])
        if order:
            self.post_message(RunsTable.Ordered(order))
