"""The keys of the screen below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import var
from textual.screen import ModalScreen

from ..render.lines import Line, boxed
from ..session.keys import Section, help_lines
from ..widgets.drawing import Drawing

_WIDTH = 78


class KeyList(Drawing, can_focus=True):
    """Every key and what it does; it scrolls where it does not fit."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "scroll"),
        Binding("down,j", "scroll(1)", "scroll"),
        Binding("pageup", "scroll_page(-1)", "scroll"),
        Binding("pagedown", "scroll_page(1)", "scroll"),
        Binding("home,g", "scroll(-1000)", "scroll"),
        Binding("end,G", "scroll(1000)", "scroll"),
    ]

    first: var[int] = var(0, init=False)

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__(id="key-list")
        self._sections = sections

    def draw(self, width: int, height: int) -> list[Line]:
        lines = self._texts()
        room = height - 2
        title: Line = [("keys", "strong")]
        if len(lines) > room:
            title.append(("  ↑ ↓ for more", "dim"))
        return boxed(title, lines[self.first :][:room], width, height, "focus")

    def action_scroll(self, lines: int) -> None:
        last = max(0, len(self._texts()) - (self.size.height - 2))
        self.first = max(0, min(self.first + lines, last))

    def action_scroll_page(self, pages: int) -> None:
        self.action_scroll(pages * max(1, self.size.height - 3))  # a line of the one before stays

    def watch_first(self) -> None:
        self.redraw()

    def _texts(self) -> list[Line]:
        return help_lines(self._sections, self.size.width - 4)


class HelpScreen(ModalScreen[None], inherit_bindings=False):
    """Help over the screen that goes on below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,enter", "dismiss", "back"),
        # The keys of the app stop at a modal screen.
        Binding("q,ctrl+c,ctrl+q", "app.quit", "quit; the run goes on"),
    ]

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        key_list = KeyList(self._sections)
        key_list.styles.max_width = _WIDTH
        key_list.styles.height = len(help_lines(self._sections, _WIDTH - 4)) + 2
        yield key_list
