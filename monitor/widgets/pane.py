"""A part of a screen that takes keys."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from .drawing import Drawing
from .key_line import Keys


class Pane(Drawing, can_focus=True):
    """A drawing that `tab` reaches and `enter` enlarges over the others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "enlarge", "enlarge, and make small again"),
    ]

    KEYS: ClassVar[Keys] = ()  # of its own, those that the last row names

    is_enlarged: var[bool] = var(False, init=False)

    class Enlarged(Message):
        """`pane` now takes all the room, or no longer."""

        def __init__(self, pane: Pane) -> None:
            super().__init__()
            self.pane = pane

    @property
    def border(self) -> str:
        """The style of the pane's frame."""
        return "focus" if self.has_focus else "border"

    def action_enlarge(self) -> None:
        self.is_enlarged = not self.is_enlarged

    def watch_is_enlarged(self) -> None:
        self.redraw()
        self.post_message(self.Enlarged(self))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.redraw()
