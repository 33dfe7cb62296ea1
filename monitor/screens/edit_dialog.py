"""A line to edit what people write about a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ...shared.errors import OperantError
from ..widgets.filter_line import Words

_WIDTH = 72


class EditDialog(ModalScreen[None], inherit_bindings=False):
    """Enter gives the text to `save`, which may refuse it with an error of one line; then it stays
    to be mended. Esc leaves all as it was.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss", "leave it as it was"),
        Binding("enter", "save", "keep it"),
    ]

    def __init__(self, title: str, text: str, save: Callable[[str], object]) -> None:
        super().__init__()
        self._title, self._text, self._save = title, text, save

    def compose(self) -> ComposeResult:
        with Vertical(id="edit") as box:
            box.styles.max_width = _WIDTH
            yield Words(f" {self._title}", "strong", id="edit-title")
            yield Input(self._text, id="edited", compact=True, select_on_focus=False)
            yield Words(" enter keeps it, esc leaves it as it was", "dim", id="edit-keys")
            yield Words(style="error", id="edit-error")

    def on_mount(self) -> None:
        edited = self.query_one(Input)
        edited.focus()
        edited.cursor_position = len(self._text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:  # beside the box
            self.dismiss()

    def action_save(self) -> None:
        try:
            self._save(self.query_one(Input).value)
        except OperantError as error:
            self.query_one("#edit-error", Words).show(f" {error}")
        else:
            self.dismiss()
