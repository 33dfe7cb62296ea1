"""A line to type search words in."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from ..render.lines import Line, fit
from .drawing import Drawing


class Words(Drawing):
    """One row of text."""

    def __init__(self, text: str = "", style: str = "text", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text, self._style = text, style

    def show(self, text: str) -> None:
        self._text = text
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        return [[(fit(self._text, width), self._style)]]


class FilterLine(Vertical):
    """A row to type in, and below it one for what is wrong with it. `/` opens it, `enter` keeps
    what was typed, `esc` drops it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "drop", "drop the filter"),
    ]

    class Changed(Message):
        """Somebody looks for `text`; nothing when it is empty. `is_done`: and has said so."""

        def __init__(self, text: str, is_done: bool = False) -> None:
            super().__init__()
            self.text, self.is_done = text, is_done

    def __init__(self) -> None:
        super().__init__(id="filter")

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Words(" / ", "focus", id="slash")
            yield Input(id="typed", compact=True, select_on_focus=False)
        yield Words(style="error", id="error")

    def open(self, text: str) -> None:
        """Show it with `text` to edit."""
        self.display = True
        typed = self.query_one(Input)
        typed.value = text
        typed.cursor_position = len(text)
        typed.focus()

    def close(self) -> None:
        self.complain("")
        self.display = False

    def complain(self, text: str) -> None:
        """Say what is wrong; nothing when `text` is empty."""
        error = self.query_one("#error", Words)
        error.display = bool(text)
        error.show(f"   {text}")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Changed(event.value, is_done=True))

    def action_drop(self) -> None:
        self.query_one(Input).value = ""
        self.post_message(self.Changed("", is_done=True))
