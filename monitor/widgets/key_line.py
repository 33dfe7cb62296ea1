"""The lowest row of a screen: the keys that matter most."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.reactive import var
from textual.widgets import Input

from ..render.lines import Line, line_width, spread
from ..session.keys import key_under
from .drawing import Drawing

Keys = tuple[tuple[str, str], ...]  # keys, and what they do


class KeyLine(Drawing):
    """Keys and what they do, as many as fit; the first stay longest."""

    keys: var[Keys] = var((), init=False)

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__(id="keys")
        self.keys = tuple(keys)
        self._modes = ""
        self._places: list[tuple[int, str, str]] = []  # first cell, keys, what they do

    def show_modes(self, modes: str) -> None:
        """Show unusual modes at the right."""
        if modes != self._modes:
            self._modes = modes
            self.redraw()

    def watch_keys(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """A key is pressed by a click on it, or on what it does."""
        for start, keys, what in self._places:
            if start <= event.x < start + cell_len(f"{keys} {what}"):
                name = key_under(keys, event.x - start)
                # Where people type, a letter would end up in their text.
                if name and not (isinstance(self.app.focused, Input) and len(name) == 1):
                    self.app.simulate_key(name)

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [(" ", "bar_text")]
        modes: Line = [(f"{self._modes} ", "bar_focus")] if self._modes else []
        room = width - line_width(modes)
        modes = modes if room > width // 3 else []
        self._places = []
        for key, what in self.keys:
            piece: Line = [(key, "bar_strong"), (f" {what}  ", "bar_dim")]
            if line_width(line) + line_width(piece) - 2 * (not modes) <= room:
                self._places.append((line_width(line), key, what))
                line += piece
        return [spread(line, modes, width, "bar_text")]
