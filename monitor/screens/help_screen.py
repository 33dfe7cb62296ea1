"""The keys of the screen below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ..render.lines import Line
from ..session.keys import Section, found_sections, help_lines
from ..widgets.filter_line import Words
from ..widgets.scrolling_pane import TOP, ScrollingPane

_WIDTH = 78


class KeyList(ScrollingPane, can_focus=False):
    """The keys that match the search, and what they do."""

    starts_at = TOP
    border = "focus"

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__(id="key-list")
        self._sections = sections

    def title(self, num_found: int, num_below: int, width: int) -> Line:
        return [("keys", "strong"), ("  ↑ ↓ for more" if num_below else "", "dim")]

    def found(self) -> list[Line]:
        return help_lines(found_sections(self._sections, self.words), self.size.width - 4)


class HelpScreen(ModalScreen[None], inherit_bindings=False):
    """Help over the screen that goes on below, with a line to search it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,enter", "dismiss", "back"),  # and a question mark
        Binding("up", "scroll(1)", "scroll"),
        Binding("down", "scroll(-1)", "scroll"),
        Binding("pageup", "scroll_page(1)", "scroll"),
        Binding("pagedown", "scroll_page(-1)", "scroll"),
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
        self.query_one(KeyList).action_scroll(lines)

    def action_scroll_page(self, pages: int) -> None:
        self.action_scroll(pages * max(1, self.query_one(KeyList).size.height - 3))
