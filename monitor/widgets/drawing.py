"""The base of all widgets here: lines of text, of which only the changed ones are painted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ...shared.text.harmless import harmless
from ..render.ascii import ascii_text
from ..render.lines import Line
from ..render.palette import styles_for
from ..session.memory import forget_lines
from ..session.session import Session, session_of


class Drawing(Widget):
    """A widget of which `draw` gives the lines, as often as `redraw` is called."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self._drawn_size = (0, 0)

    @property
    def session(self) -> Session:
        return session_of(self.app)

    def draw(self, width: int, height: int) -> list[Line]:
        """The widget's text in `width` by `height` cells; missing lines stay blank."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again, and have the terminal paint the lines that differ."""
        width, height = self.size
        if not self.is_mounted or (width, height) != self._drawn_size:
            self._drawn_size = (0, 0)
            self.refresh()  # `render_line` draws, for the size it has then
            return
        before, self._lines = self._lines, self._draw(width, height)
        changed = [y for y in range(height) if before[y] != self._lines[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def on_unmount(self) -> None:
        forget_lines(self)

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if (width, height) != self._drawn_size:
            self._drawn_size = width, height
            self._lines = self._draw(width, height)
        line = self._lines[y] if y < len(self._lines) else []
        styles = styles_for(self.app.console.color_system, self.session.palette_name)
        plain = styles["text"]
        shown = ascii_text if self.session.is_ascii else harmless
        segments = [
            # Pixels name their colours themselves.
            Segment(shown(harmless(text)), Style.parse(name) if " on " in name
                    else styles.get(name, plain))
            for text, name in line
        ]  # fmt: skip
        return Strip(segments).adjust_cell_length(width, plain)

    def _draw(self, width: int, height: int) -> list[Line]:
        lines = self.draw(width, height) if width and height else []
        return [*lines[:height], *([] for _ in range(height - len(lines)))]


class Drawn(Drawing):
    """The lines that a function gives for a size and for the values shown last; blank before."""

    def __init__(self, id: str, lines: Callable[..., list[Line]]) -> None:
        """`lines` is called with the width, the height and the values."""
        super().__init__(id=id)
        self._lines_of = lines
        self._values: tuple[Any, ...] | None = None

    def show(self, *values: Any) -> None:
        self._values = values
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        return [] if self._values is None else self._lines_of(width, height, *self._values)
