"""A list of which one row is selected, and stays so when others come."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from textual import events
from textual.reactive import var

from ..render.lines import Line
from ..render.scroll import scrollbar, window_start
from .drawing import Drawing


class RowList(Drawing, can_focus=True):
    """Rows below a head. `selected` is the key of a row: what it is, wherever it stands."""

    selected: var[Hashable | None] = var(None, init=False)

    def __init__(self, id: str, selected: Hashable | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(RowList.selected, selected)
        self._keys: tuple[Hashable, ...] = ()
        self._start = self._last_place = 0

    @property
    def num_rows(self) -> int:
        return len(self._keys)

    def draw_row_at(self, place: int, width: int, is_selected: bool) -> Line:
        raise NotImplementedError

    def draw_head_row(self, width: int) -> Line:
        raise NotImplementedError

    def action_open(self) -> None:
        raise NotImplementedError

    def click_head(self, column: int) -> None:
        raise NotImplementedError

    def show_keys(self, keys: Sequence[Hashable]) -> None:
        """Have these rows, and draw them."""
        self._keys = tuple(keys)
        if self.selected not in self._keys:
            # Gone, or nothing was selected yet: take what stands at its place.
            place = min(self._place, len(self._keys) - 1)
            self.selected = self._keys[place] if self._keys else None
        self.redraw()

    def draw_rows(self, width: int, height: int) -> list[Line]:
        num_rows = len(self._keys)
        self._start = window_start(self._place, self._start, height - 1, num_rows)
        places = range(self._start, min(self._start + height - 1, num_rows))
        lines = [
            self.draw_row_at(place, width - 1, self._keys[place] == self.selected)
            for place in places
        ]
        bar = scrollbar(self._start, height - 1, num_rows, height - 1)
        rows = [line + mark for line, mark in zip(lines, bar, strict=False)]
        return [self.draw_head_row(width - 1), *rows]

    def action_move(self, rows: int) -> None:
        """Select the row that many below; above where it is negative."""
        if self._keys:
            place = max(0, min(self._place + rows, len(self._keys) - 1))
            self.selected = self._keys[place]

    def action_move_pages(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def watch_selected(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        if event.y == 0 and self._keys:
            self.click_head(event.x)
            return
        place = self._start + event.y - 1
        if 0 <= place < len(self._keys):
            is_again = self.selected == self._keys[place]
            self.selected = self._keys[place]
            if is_again:
                self.action_open()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    @property
    def _place(self) -> int:
        """The row that is selected; where it was before while it is gone."""
        if self.selected in self._keys:
            self._last_place = self._keys.index(self.selected)
        return self._last_place
