"""A line to choose one of many by typing a part of its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from ..render.columns import Column
from ..render.lines import Line, fit_end
from ..runs.list.choices import Choice, chosen
from .filter_line import Words
from .list_table import ListTable

_MAX_ROWS = 8
_COLUMNS = (
    Column[Choice]("", lambda choice: choice.name, 20, 44,
                   draw=lambda choice, width: [(fit_end(choice.name, width), "text")]),
    Column[Choice]("", lambda choice: choice.note, 8, 100, 1, style="dim"),
)  # fmt: skip
_NO_CHOICE: list[Line] = [[("   nothing has a name like that; esc leaves", "error")]]


class Choices(ListTable, can_focus=False):
    """The choices that match, a row for each, as many as have room."""

    has_head = False
    opens_at_once = True

    def show(self, choices: Sequence[Choice]) -> None:
        """Show `choices`, the first of them selected."""
        self.styles.height = max(1, min(_MAX_ROWS, len(choices)))
        self.set_reactive(ListTable.selected, choices[0].value if choices else None)
        self.show_rows({choice.value: choice for choice in choices}, _COLUMNS, empty=_NO_CHOICE)


class ChoiceLine(Vertical):
    """A row to type in over the choices that fit; `enter` takes the selected one, `esc` none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "choose nothing"),
        Binding("up,shift+tab", "move(-1)", "select a choice"),
        Binding("down,tab", "move(1)", "select a choice"),
    ]

    class Chosen(Message):
        """Somebody chose `value`; None for nothing. `purpose` is what it was opened for."""

        def __init__(self, value: str | None, purpose: str) -> None:
            super().__init__()
            self.value, self.purpose = value, purpose

    def __init__(self) -> None:
        super().__init__(id="choice")
        self._choices: Sequence[Choice] = ()
        self._purpose = ""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Words(" ", "focus", id="asked")
            yield Input(id="typed", compact=True, select_on_focus=False)
        yield Choices("choices")

    def open(self, purpose: str, choices: Sequence[Choice]) -> None:
        """Ask for one of `choices`, which are at least one; the first is selected."""
        self._choices, self._purpose = choices, purpose
        asked = self.query_one("#asked", Words)
        asked.styles.width = len(purpose) + 3
        asked.show(f" {purpose} ")
        self.display = True
        typed = self.query_one(Input)
        typed.value = ""
        self._show()
        typed.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(Choices).action_open()

    def on_list_table_opened(self, message: ListTable.Opened) -> None:
        message.stop()
        self._take(message.key)

    def action_leave(self) -> None:
        self._take(None)

    def action_move(self, rows: int) -> None:
        self.query_one(Choices).action_move(rows)

    def _show(self) -> None:
        self.query_one(Choices).show(chosen(self._choices, self.query_one(Input).value))

    def _take(self, value: str | None) -> None:
        self.display = False
        self.post_message(self.Chosen(value, self._purpose))
