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
        return [slider_line(_LABEL, self.share, self._value(), width, self.has_focus)]

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
        self.share = share_at(column, _LABEL, self._value(), self.size.width)

    def _value(self) -> str:
        return f" {format_percent(self.share)} ".rjust(8)


def slider_line(label: str, share: float, value: str, width: int, has_focus: bool) -> Line:
    """A knob at `share` of the room between `label` and `value`."""
    room = max(1, width - len(label) - len(value))
    knob = round(share * (room - 1))
    return [
        (label, "strong" if has_focus else "dim"),
        ("━" * knob, "focus" if has_focus else "text"),
        ("●", "focus"),
        ("─" * (room - 1 - knob), "faint"),
        (value, "text"),
    ]


def share_at(column: int, label: str, value: str, width: int) -> float:
    """The share at which the knob of such a line is in `column`."""
    room = max(2, width - len(label) - len(value))
    return min(max((column - len(label)) / (room - 1), 0.0), 1.0)
