"""The lowest row of a screen: the keys that matter most."""

from __future__ import annotations

from collections.abc import Sequence

from ..lines import Line, line_width
from .drawing import Drawing


class KeyLine(Drawing):
    """Keys and what they do, as many as fit; the first stay longest."""

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__(id="keys")
        self._keys = tuple(keys)

    def show(self, keys: Sequence[tuple[str, str]]) -> None:
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [(" ", "bar_text")]
        for key, what in self._keys:
            piece: Line = [(key, "bar_strong"), (f" {what}  ", "bar_dim")]
            if line_width(line) + line_width(piece) - 2 <= width:
                line += piece
        return [[*line, (" " * max(0, width - line_width(line)), "bar_text")]]
