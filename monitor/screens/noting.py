"""A run's note, written from the monitor into the run's folder."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ...shared.errors import OperantError
from ...shared.runs.run_folder import Run
from ...shared.runs.run_notes import RunNotes, change_notes
from ..widgets.filter_line import Words

ELSEWHERE = "the run is on another machine: its notes are read only from here"
READ_ONLY = "--readonly: nothing is written from here"
_WIDTH = 72


class NoteDialog(ModalScreen[None], inherit_bindings=False):
    """Enter writes the note; if that fails, the dialog stays and says why. Esc changes nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss", "leave it as it was"),
        Binding("enter", "save", "keep it"),
    ]

    def __init__(self, run: Run, notes: RunNotes) -> None:
        super().__init__()
        self._run, self._notes = run, notes

    def compose(self) -> ComposeResult:
        with Vertical(id="edit") as box:
            box.styles.max_width = _WIDTH
            title = f" note: {self._notes.name or self._run.id}"
            yield Words(title, "strong", id="edit-title")
            yield Input(self._notes.note, id="edited", compact=True, select_on_focus=False)
            yield Words(" enter keeps it, esc leaves it as it was", "dim", id="edit-keys")
            yield Words(style="error", id="edit-error")

    def on_mount(self) -> None:
        edited = self.query_one(Input)
        edited.focus()
        edited.cursor_position = len(self._notes.note)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:  # beside the box
            self.dismiss()

    def action_save(self) -> None:
        text = self.query_one(Input).value
        try:
            change_notes(self._run.folder, lambda notes: replace(notes, note=text))
        except OperantError as error:
            self.query_one("#edit-error", Words).show(f" {error}")
        else:
            self.dismiss()


def why_not(run: Run, is_readonly: bool) -> str:
    """Why nothing can be written about `run` from here; empty where it can."""
    if not run.folder.is_absolute():  # a name alone: that of a run on another machine
        return ELSEWHERE
    return READ_ONLY if is_readonly else ""
