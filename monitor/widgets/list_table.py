"""A list of rows in columns, of which one row is selected."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from ..render.columns import Column, draw_head, draw_row, fit_columns, order_at
from ..render.lines import Line, fit_line
from ..render.scroll import scrollbar, window_start
from .drawing import Drawing

_MARGIN = 2  # cells before the columns: the cursor and a mark


class ListTable(Drawing, can_focus=True):
    """A row for each key, under the headings of the columns that fit. `selected` is the key of a
    row, which stays selected when other rows come.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "select a row"),
        Binding("down", "move(1)", "select a row"),
        Binding("pageup", "move_pages(-1)", "a page up or down"),
        Binding("pagedown", "move_pages(1)", "a page up or down"),
        Binding("home", "move(-100000)", "the first, the last row"),
        Binding("end", "move(100000)", "the first, the last row"),
        Binding("enter", "open", "open it"),
    ]

    has_head: ClassVar[bool] = True
    opens_at_once: ClassVar[bool] = False  # with the first click

    selected: var[Hashable | None] = var(None, init=False)

    class Opened(Message):
        """Somebody opened the row of `key` in `table`."""

        def __init__(self, table: ListTable, key: Any) -> None:
            super().__init__()
            self.table, self.key = table, key

    class Ordered(Message):
        """Somebody wants the list by `order`."""

        def __init__(self, order: str) -> None:
            super().__init__()
            self.order = order

    def __init__(
        self,
        id: str,
        selected: Hashable | None = None,
        notice_of: Callable[[Any], str] = lambda _: "",
    ) -> None:
        """`notice_of` gives the text that a row has in place of its numbers; empty for these."""
        super().__init__(id=id)
        self._notice_of = notice_of
        self.set_reactive(ListTable.selected, selected)
        self._rows: Mapping[Hashable, Any] = {}
        self._keys: tuple[Hashable, ...] = ()
        self._columns: Sequence[Column[Any]] = ()
        self._order = ("", False)
        self._marks: Mapping[Hashable, str] = {}
        self._empty: list[Line] = []
        self._start = self._last_place = self._end = 0

    def show_rows(
        self,
        rows: Mapping[Any, Any],
        columns: Sequence[Column[Any]],
        order: tuple[str, bool] = ("", False),
        marks: Mapping[Any, str] | None = None,
        empty: Sequence[Line] = (),
    ) -> None:
        """Draw `rows`, by their keys, which are in `order`: that of a column, and whether it is
        reversed. `marks` stand before rows. Without rows, the lines `empty` are drawn.
        """
        self._rows, self._keys, self._columns = rows, tuple(rows), columns
        self._order, self._marks, self._empty = order, marks or {}, list(empty)
        if self.selected not in rows:
            # Gone, or nothing was selected yet: take what stands at its place.
            place = min(self._place, len(self._keys) - 1)
            self.selected = self._keys[place] if self._keys else None
        self.redraw()

    @property
    def num_rows(self) -> int:
        return len(self._keys)

    @property
    def row(self) -> Any:
        """The row that is selected; None if there is none."""
        return self._rows.get(self.selected)

    def draw(self, width: int, height: int) -> list[Line]:
        if not self._keys:
            return [*self._empty]
        num_rows, room = len(self._keys), height - self.has_head
        fitted = fit_columns(self._columns, width - _MARGIN - 1)
        head: Line = [(" " * _MARGIN, "dim"), *draw_head(fitted, self._order)]
        lines = [fit_line(head, width - 1, "dim")] if self.has_head else []
        self._start = window_start(self._place, self._start, room, num_rows)
        self._end = self._start + room  # what is below is not seen
        bar = scrollbar(self._start, room, num_rows, room)
        for key, mark in zip(self._keys[self._start :], bar, strict=False):
            is_selected, row = key == self.selected, self._rows[key]
            prefix = "cursor_" if is_selected else ""
            margin = f"{'▌' if is_selected else ' '}{self._marks.get(key, ' ')}"
            cells = draw_row(fitted, row, is_selected, self._notice_of(row))
            line = [(margin, f"{prefix}focus"), *cells]
            lines.append([*fit_line(line, width - 1, f"{prefix}text"), *mark])
        return lines

    def action_move(self, rows: int) -> None:
        """Select the row that many below; above where it is negative."""
        if self._keys:
            place = max(0, min(self._place + rows, len(self._keys) - 1))
            self.selected = self._keys[place]

    def action_move_pages(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def action_open(self) -> None:
        if self.selected in self._rows:
            self.post_message(self.Opened(self, self.selected))

    def watch_selected(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Sort by the column of a heading; select a row, or open the one that is selected."""
        if event.y < self.has_head:
            fitted = fit_columns(self._columns, self.size.width - _MARGIN - 1)
            if self._keys and (order := order_at(fitted, event.x - _MARGIN)):
                self.post_message(self.Ordered(order))
            return
        place = self._start + event.y - self.has_head
        if place < min(self._end, len(self._keys)):
            opens = self.opens_at_once or self.selected == self._keys[place]
            self.selected = self._keys[place]
            if opens:
                self.action_open()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    @property
    def _place(self) -> int:
        """The row that is selected; where it was before while it is gone."""
        if self.selected in self._rows:
            self._last_place = self._keys.index(self.selected)
        return self._last_place
