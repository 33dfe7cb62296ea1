"""The charts of a run: as many as fit, the others by scrolling; one is selected, or enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var

from ..charts.board import ChartBoard
from ..charts.chart import draw_chart
from ..charts.grid_shape import Cell, GridShape, grid_shape
from ..charts.options import ChartOptions
from ..charts.shown_run import Watched
from ..look.lines import Line, boxed
from ..look.scroll import scrollbar, window_start
from ..runs.alerts import Alert
from .pane import Pane


class ChartGrid(Pane):
    """All charts in one widget: drawing them costs no layout, however many there are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1, 0)", "select a chart"),
        Binding("right", "move(1, 0)", "select a chart"),
        Binding("up", "move(0, -1)", "select a chart"),
        Binding("down", "move(0, 1)", "select a chart"),
        Binding("home", "select(0)", "select the first, the last chart"),
        Binding("end", "select(-1)", "select the first, the last chart"),
        Binding("z", "zoom(1)", "zoom in, out (ctrl+wheel, or drag)"),
        Binding("Z", "zoom(-1)", "zoom in, out (ctrl+wheel, or drag)"),
        Binding("h,shift+left", "pan(-0.25)", "move the zoomed part to the left"),
        Binding("l,shift+right", "pan(0.25)", "move the zoomed part to the right"),
        Binding("comma", "cursor(-1)", "cursor: the values there (click)"),
        Binding("full_stop", "cursor(1)", "cursor: the values there (click)"),
        Binding("less_than_sign", "cursor(-10)", "cursor, ten cells at a time"),
        Binding("greater_than_sign", "cursor(10)", "cursor, ten cells at a time"),
        Binding("y", "log('y')", "logarithmic Y of the selected chart"),
        Binding("x", "log('x')", "logarithmic X of the selected chart"),
        Binding("f", "full", "full range of Y of the selected chart"),
        Binding("a", "next_axis", "axis: env steps, iterations, wall or training time"),
        Binding("s", "smooth(1)", "smooth more, less"),
        Binding("S", "smooth(-1)", "smooth more, less"),
        Binding("d", "difference", "differences to the reference"),
    ]

    selected: var[int] = var(0, init=False)
    options: var[ChartOptions] = var(ChartOptions(), init=False)

    class OptionsChanged(Message):
        """Somebody wants the charts otherwise."""

        def __init__(self, options: ChartOptions) -> None:
            super().__init__()
            self.options = options

    def __init__(self) -> None:
        super().__init__(id="charts")
        self.board = ChartBoard()
        self._top_row = 0
        self._dragged_from: tuple[int, int] | None = None  # a chart, and a cell of its width
        self._dragged_to = 0  # another cell

    def show(self, watched: Sequence[Watched], alerts: Sequence[Alert] = ()) -> None:
        """Draw the runs, the one in front first, if anything changed since the last time."""
        if self.board.show(watched, alerts):
            self.selected = min(self.selected, max(0, len(self.board.metrics) - 1))
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        metrics = self.board.metrics
        if not metrics:
            return self._draw_excuse(width, height)
        if self.is_enlarged:
            return self._draw_one(self.selected, Cell(0, 0, width, height))
        shape = self._shape(width, height)
        num_rows = -(-len(metrics) // shape.columns)
        self._top_row = window_start(
            self.selected // shape.columns, self._top_row, shape.rows, num_rows
        )
        first = self._top_row * shape.columns
        lines: list[Line] = [[] for _ in range(height)]
        for place in range(shape.columns * shape.rows):
            cell = shape.cell(place)
            drawn = self._draw_one(first + place, cell)
            for y in range(cell.height):
                lines[cell.y + y] += drawn[y]
        if shape.width < width:
            bar = scrollbar(self._top_row, shape.rows, num_rows, height)
            lines = [line + mark for line, mark in zip(lines, bar, strict=True)]
        return lines

    def action_move(self, columns: int, rows: int) -> None:
        """Select the chart that many places away; enlarged charts stand in one row."""
        step = self._shape(*self.size).columns if not self.is_enlarged else 1
        num_charts = len(self.board.metrics)
        target = self.selected + columns + rows * step
        if 0 <= target < num_charts:
            self.selected = target
        elif rows > 0 and self.selected // step < (num_charts - 1) // step:
            self.selected = num_charts - 1

    def action_select(self, place: int) -> None:
        if self.board.metrics:
            self.selected = place % len(self.board.metrics)

    def action_zoom(self, steps: int) -> None:
        self.options = self.board.zoomed(steps)

    def action_pan(self, share: float) -> None:
        self.options = self.board.panned(share)

    def action_cursor(self, cells: int) -> None:
        if self.board.metrics:
            width = self._cell(self.selected).width
            self.options = self.board.with_cursor_moved(self.selected, width, cells)

    def action_log(self, axis: str) -> None:
        """Logarithmic x or y of the selected chart, or linear again."""
        if self.board.metrics:
            name = self.board.metrics[self.selected].name
            self.options = self.options.with_log_toggled(axis, name)

    def action_full(self) -> None:
        """All values on the vertical axis of the selected chart, or what most of it needs."""
        if self.board.metrics:
            name = self.board.metrics[self.selected].name
            self.options = self.options.with_full_toggled(name)

    def action_next_axis(self) -> None:
        self.options = self.options.with_next_count()

    def action_smooth(self, steps: int) -> None:
        self.options = self.options.with_smoothing(steps)

    def action_difference(self) -> None:
        shows_difference = not self.options.shows_difference
        self.options = replace(self.options, shows_difference=shows_difference)

    def watch_selected(self) -> None:
        self.redraw()

    def watch_options(self) -> None:
        self.board.choose(self.options)
        self.selected = min(self.selected, max(0, len(self.board.metrics) - 1))
        self.redraw()
        self.post_message(self.OptionsChanged(self.options))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        place = self._place_at(event.x, event.y)
        if place is not None:
            self.selected = place
            self._dragged_to = event.x - self._cell(place).x
            self._dragged_from = place, self._dragged_to
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """What a drag has selected so far is there to be seen."""
        if self._dragged_from is not None:
            self._dragged_to = event.x - self._cell(self._dragged_from[0]).x
            self.redraw()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The end of a click puts the cursor there; the end of a drag shows that part."""
        self.release_mouse()
        if self._dragged_from is not None:
            (place, start), self._dragged_from = self._dragged_from, None
            cell = self._cell(place)
            self.options = self.board.dragged(place, cell.width, start, event.x - cell.x)
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2 and self._place_at(event.x, event.y) is not None:
            self.action_enlarge()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn_wheel(event, -1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn_wheel(event, 1)

    def _turn_wheel(self, event: events.MouseEvent, up: int) -> None:
        """With ctrl it zooms around the mouse; else it goes through the charts."""
        place = self._place_at(event.x, event.y)
        if not event.ctrl or place is None:
            self.action_move(0, -up)
            return
        cell = self._cell(place)
        share = self.board.share_under(place, cell.width, event.x - cell.x)
        self.options = self.board.zoomed_about(up, share)

    def _place_at(self, x: int, y: int) -> int | None:
        """The chart under the mouse."""
        if self.is_enlarged:
            return self.selected if self.board.metrics else None
        shape = self._shape(*self.size)
        place = self._top_row * shape.columns + shape.place_at(x, y)
        return place if place < len(self.board.metrics) else None

    def _cell(self, place: int) -> Cell:
        """Where the chart at `place` stands."""
        width, height = self.size
        if self.is_enlarged:
            return Cell(0, 0, width, height)
        shape = self._shape(width, height)
        return shape.cell(max(0, place - self._top_row * shape.columns))

    def _shape(self, width: int, height: int) -> GridShape:
        """The grid's shape, one column narrower where a scrollbar is needed."""
        num_charts = len(self.board.metrics)
        shape = grid_shape(width, height, num_charts)
        if shape.columns * shape.rows < num_charts:
            shape = grid_shape(width - 1, height, num_charts)
        return shape

    def _draw_one(self, place: int, cell: Cell) -> list[Line]:
        """The chart at `place` of the run's charts; blank beyond the last."""
        if place >= len(self.board.metrics):
            return [[(" " * cell.width, "text")] for _ in range(cell.height)]
        is_selected = place == self.selected and self.has_focus
        chart = self.board.chart(place)
        if self._dragged_from is not None and place == self._dragged_from[0]:
            start = self._dragged_from[1]
            chart = self.board.chart_with_selection(place, cell.width, start, self._dragged_to)
        return draw_chart(chart, cell.width, cell.height, is_selected)

    def _draw_excuse(self, width: int, height: int) -> list[Line]:
        if not self.board.watched:
            words = "waiting for the run"
        elif self.options.words:
            words = f"no metric's name holds {' and '.join(self.options.words)}"
        else:
            words = "waiting for the first metric"
        return boxed([("charts", "text")], [[], [(words, "dim")]], width, height, self.border)
