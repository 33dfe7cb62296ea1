"""A question with two answers."""

from __future__ import annotations

import textwrap
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ..render.lines import Line, boxed
from ..widgets.drawing import Drawing

_WIDTH = 64


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
