"""A position in a run's past, which goes on by itself while it plays."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from ..render.formatting import format_percent
from ..render.lines import Line
from .drawing import Drawing

_LABEL = " replay "
_PLAY_STEP, _PLAY_EVERY_S = 0.005, 0.1  # the whole run in 20 s


class TimeSlider(Drawing, can_focus=True):
    """A row on which a knob stands where in the run the screen is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-0.01)", "earlier, later"),
        Binding("right", "step(0.01)", "earlier, later"),
        Binding("pageup", "step(-0.1)", "a tenth of the run earlier, later"),
        Binding("pagedown", "step(0.1)", "a tenth of the run earlier, later"),
        Binding("home", "step(-1)", "the start, the end of the run"),
        Binding("end", "step(1)", "the start, the end of the run"),
    ]

    share: var[float] = var(1.0, init=False)
    is_playing: var[bool] = var(False, init=False)

    class Moved(Message):
        """The screen is to show the run at `share` of its history."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self) -> None:
        super().__init__(id="slider")

    @property
    def is_in_the_past(self) -> bool:
        """Whether the screen is to show another moment than the newest."""
        return self.display and self.share < 1.0

    def on_mount(self) -> None:
        self.set_interval(_PLAY_EVERY_S, self._play)

    def draw(self, width: int, height: int) -> list[Line]:
        value = f" {format_percent(self.share)} ".rjust(8)
        room = max(1, width - len(_LABEL) - len(value))
        knob = round(self.share * (room - 1))
        style = "focus" if self.has_focus else "text"
        return [
            [
                (_LABEL, "strong" if self.has_focus else "dim"),
                ("━" * knob, style),
                ("●", "focus"),
                ("─" * (room - 1 - knob), "faint"),
                (value, "text"),
            ]
        ]

    def play_or_pause(self) -> None:
        """Go on from here, from the start of the run where this is its end; or stand still."""
        if self.share >= 1.0:
            self.share = 0.0
        self.is_playing = not self.is_playing

    def action_step(self, share: float) -> None:
        self.share = min(max(self.share + share, 0.0), 1.0)

    def watch_share(self) -> None:
        self.redraw()
        self.post_message(self.Moved(self.share))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.redraw()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self._go_to(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button:
            self._go_to(event.x)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def _play(self) -> None:
        if self.is_playing:
            self.share = min(1.0, self.share + _PLAY_STEP)
            self.is_playing = self.share < 1.0

    def _go_to(self, column: int) -> None:
        room = max(2, self.size.width - len(_LABEL) - 8)
        self.share = min(max((column - len(_LABEL)) / (room - 1), 0.0), 1.0)
