"""The lists of runs and of groups of runs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from ..runs.list.comparison import Comparison
from .list_table import ListTable


class RunsTable(ListTable):
    """A list whose rows can be marked, to see them together, and one pinned as the reference."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark(False)", "mark: open it with others, on the same charts"),
        Binding("p", "mark(True)", "pin as the reference to compare with"),
    ]

    class Marked(Message):
        """Somebody wants `key` on the charts of others, as the reference or no longer."""

        def __init__(self, key: Any, is_reference: bool) -> None:
            super().__init__()
            self.key, self.is_reference = key, is_reference

    def action_mark(self, is_reference: bool) -> None:
        if self.row is not None:
            self.post_message(self.Marked(self.selected, is_reference))


def marks_of(comparison: Comparison[Any]) -> dict[Hashable, str]:
    """The marks before the rows that were chosen."""
    marks: dict[Hashable, str] = dict.fromkeys(comparison.marked, "+")
    return marks if comparison.reference is None else marks | {comparison.reference: "◆"}
