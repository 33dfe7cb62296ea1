"""Where people choose one of many by typing a part of its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from ..render.lines import Line, fit, fit_end, line_width
from ..render.scroll import window_start
from ..runs.list.choices import Choice, chosen
from .drawing import Drawing
from .filter_line import Words

_MAX_ROWS = 8
_NAME_WIDTH = 44


class Choices(Drawing):
    """The choices that are left, a row for each, as many as have room."""

    def __init__(self) -> None:
        super().__init__(id="choices")
        self.shown: list[Choice] = []
        self.place = self._start = 0

    def show(self, choices: Sequence[Choice], place: int) -> None:
        self.shown, self.place = list(choices), place
        self.styles.height = max(1, min(_MAX_ROWS, len(self.shown)))
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.shown:
            return [[("   nothing has a name like that; esc leaves", "error")]]
        self._start = window_start(self.place, self._start, height, len(self.shown))
        return [
            self._row(place, width)
            for place in range(self._start, min(self._start + height, len(self.shown)))
        ]

    def on_click(self, event: events.Click) -> None:
        place = self._start + event.y
        if place < len(self.shown):
            self.post_message(ChoiceLine.Chosen(self.shown[place].value))

    def _row(self, place: int, width: int) -> Line:
        choice, is_selected = self.shown[place], place == self.place
        prefix = "cursor_" if is_selected else ""
        name_width = max(8, min(_NAME_WIDTH, width - 20))
        line: Line = [
            (" ▌ " if is_selected else "   ", f"{prefix}focus"),
            (fit(fit_end(choice.name, name_width), name_width), f"{prefix}text"),
            (f"  {choice.note}", f"{prefix}dim"),
        ]
        return [*line, (" " * max(0, width - line_width(line)), f"{prefix}dim")]


class ChoiceLine(Vertical):
    """A row to type in over the choices that fit; `enter` takes the selected one, `esc` none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "choose nothing"),
        Binding("up,shift+tab", "move(-1)", "select a choice"),
        Binding("down,tab", "move(1)", "select a choice"),
    ]

    class Chosen(Message):
        """Somebody chose `value`; None for nothing. `purpose` is what it was opened for."""

        def __init__(self, value: str | None, purpose: str = "") -> None:
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
        yield Choices()

    def open(self, purpose: str, choices: Sequence[Choice]) -> None:
        """Ask for one of `choices`, which are at least one; the first is selected."""
        self._choices, self._purpose = choices, purpose
        asked = self.query_one("#asked", Words)
        asked.styles.width = len(purpose) + 3
        asked.show(f" {purpose} ")
        self.display = True
        typed = self.query_one(Input)
        typed.value = ""
        self._show(0)
        typed.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show(0)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        choices = self.query_one(Choices)
        if choices.shown:
            self._take(choices.shown[choices.place].value)

    def on_choice_line_chosen(self, message: Chosen) -> None:
        """A click among the choices does not know what they are for."""
        if not message.purpose:
            message.stop()
            self._take(message.value)

    def action_leave(self) -> None:
        self._take(None)

    def action_move(self, rows: int) -> None:
        choices = self.query_one(Choices)
        if choices.shown:
            place = max(0, min(choices.place + rows, len(choices.shown) - 1))
            choices.show(choices.shown, place)

    def _show(self, place: int) -> None:
        typed = self.query_one(Input).value
        self.query_one(Choices).show(chosen(self._choices, typed), place)

    def _take(self, value: str | None) -> None:
        self.display = False
        self.post_message(self.Chosen(value, self._purpose))
