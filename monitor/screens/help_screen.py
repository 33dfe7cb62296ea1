"""The keys of the screen below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Input

from ..render.lines import Line, boxed
from ..session.keys import Section, found_sections, help_lines
from ..widgets.drawing import Drawing
from ..widgets.filter_line import Words

_WIDTH = 78


class KeyList(Drawing):
    """The keys that fit `words`, and what they do; it scrolls where it does not fit."""

    first: var[int] = var(0, init=False)
    words: var[tuple[str, ...]] = var((), init=False)

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__(id="key-list")
        self._sections = sections

    def draw(self, width: int, height: int) -> list[Line]:
        lines = self._texts() or [[("no key does that", "error")]]
        room = height - 2
        title: Line = [("keys", "strong")]
        if len(lines) > room:
            title.append(("  ↑ ↓ for more", "dim"))
        return boxed(title, lines[self.first :][:room], width, height, "focus")

    def scroll(self, lines: int) -> None:
        last = max(0, len(self._texts()) - (self.size.height - 2))
        self.first = max(0, min(self.first + lines, last))

    def watch_first(self) -> None:
        self.redraw()

    def watch_words(self) -> None:
        self.first = 0
        self.redraw()

    def _texts(self) -> list[Line]:
        return help_lines(found_sections(self._sections, self.words), self.size.width - 4)


class HelpScreen(ModalScreen[None], inherit_bindings=False):
    """Help over the screen that goes on below, with a line to search it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,enter", "dismiss", "back"),  # and a question mark
        Binding("up", "scroll(-1)", "scroll"),
        Binding("down", "scroll(1)", "scroll"),
        Binding("pageup", "scroll_page(-1)", "scroll"),
        Binding("pagedown", "scroll_page(1)", "scroll"),
        # The keys of the app stop at a modal screen.
        Binding("ctrl+c,ctrl+q", "app.quit", "quit; the run goes on", priority=True),
    ]

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        with Vertical(id="help") as box:
            box.styles.max_width = _WIDTH
            box.styles.max_height = len(help_lines(self._sections, _WIDTH - 4)) + 3
            with Horizontal():
                asked = Words(" search ", "focus", id="asked")
                asked.styles.width = len(" search ")
                yield asked
                yield Input(id="typed", compact=True)
            yield KeyList(self._sections)

    def on_input_changed(self, event: Input.Changed) -> None:
        if "?" in event.value:
            self.dismiss()
        self.query_one(KeyList).words = tuple(event.value.split())

    def on_input_submitted(self) -> None:
        self.dismiss()

    def action_scroll(self, lines: int) -> None:
        self.query_one(KeyList).scroll(lines)

    def action_scroll_page(self, pages: int) -> None:
        self.action_scroll(pages * max(1, self.query_one(KeyList).size.height - 3))
