"""The lowest row of a screen: the keys that matter most."""

from __future__ import annotations

from collections.abc import Sequence

from ..look.lines import Line, line_width, spread
from .drawing import Drawing


class KeyLine(Drawing):
    """Keys and what they do, as many as fit; the first stay longest."""

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__(id="keys")
        self._keys = tuple(keys)
        self._modes = ""

    def tell(self, modes: str) -> None:
        """Say at the right what is not as usual."""
        if modes != self._modes:
            self._modes = modes
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [(" ", "bar_text")]
        modes: Line = [(f"{self._modes} ", "bar_focus")] if self._modes else []
        room = width - line_width(modes)
        modes = modes if room > width // 3 else []
        for key, what in self._keys:
            piece: Line = [(key, "bar_strong"), (f" {what}  ", "bar_dim")]
            if line_width(line) + line_width(piece) - 2 * (not modes) <= room:
                line += piece
        return [spread(line, modes, width, "bar_text")]
