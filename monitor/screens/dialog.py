"""Dialogs: a question with two answers, and a run's note, written into the run's folder."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ...shared.errors import OperantError
from ...shared.runs.run_elsewhere import RunElsewhere
from ...shared.runs.run_folder import Run
from ...shared.runs.run_notes import RunNotes, change_notes
from ..render.lines import Line, boxed
from ..widgets.drawing import Drawing
from ..widgets.filter_line import Words

ELSEWHERE = "the run is on another machine: its notes are read only from here"
READ_ONLY = "--readonly: nothing is written from here"
_WIDTH, _NOTE_WIDTH = 64, 72


class Question(Drawing):
    """The text in a frame, and how to answer."""

    def __init__(self, text: str) -> None:
        super().__init__(id="question")
        self.text = text

    def draw(self, width: int, height: int) -> list[Line]:
        lines: list[Line] = [[(row, "text")] for row in textwrap.wrap(self.text, max(8, width - 4))]
        answers: Line = [("y", "strong"), (" yes    ", "dim"), ("n", "strong"), (" no", "dim")]
        return boxed([("sure?", "warning")], [*lines, [], answers], width, height, "focus")

    def on_click(self, event: events.Click) -> None:
        if event.y == self.size.height - 2:
            is_yes = event.x - 2 < len("y yes  ")
            self.screen.dismiss(is_yes)


class Dialog(ModalScreen[bool], inherit_bindings=False):
    """Gives True for yes. Nothing but a plain yes is one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape,q,enter,ctrl+c", "answer(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        question = Question(self._question)
        question.styles.max_width = _WIDTH
        question.styles.height = len(textwrap.wrap(self._question, _WIDTH - 4)) + 5
        yield question

    def action_answer(self, is_yes: bool) -> None:
        self.dismiss(is_yes)


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
            box.styles.max_width = _NOTE_WIDTH
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
    if isinstance(run, RunElsewhere):
        return ELSEWHERE
    return READ_ONLY if is_readonly else ""
