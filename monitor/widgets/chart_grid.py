"""The charts of a run: as many as fit, the others by scrolling; one is selected, or enlarged."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from textual import events
from textual.binding import Binding, BindingType
from textual.reactive import var

from ...shared import Metric
from ..chart import Chart, draw_chart
from ..chart_choice import chart_of, charted, whole_range
from ..curves import XAxis, x_axis
from ..grid_shape import Cell, GridShape, grid_shape
from ..lines import Line, boxed
from ..run_view import RunView
from ..scroll import scrollbar, window_start
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
    ]

    selected: var[int] = var(0, init=False)

    def __init__(self) -> None:
        super().__init__(id="charts")
        self.metrics: list[Metric] = []
        self._view: RunView | None = None
        self._x = XAxis("", np.zeros(0))
        self._x_range = (0.0, 0.0)
        self._top_row = 0

    def show(self, view: RunView) -> None:
        """Draw `view`, if anything was published since the last one."""
        before, self._view = self._view, view
        if before and _news(before) == _news(view):
            return
        self.metrics = charted(view.schema)
        self.selected = min(self.selected, max(0, len(self.metrics) - 1))
        self._x = x_axis(view.history)
        self._x_range = whole_range(self._x, view.status.is_alive)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if self._view is None or not self.metrics:
            words = "waiting for the run" if self._view is None else "waiting for the first metric"
            return boxed([("charts", "text")], [[], [(words, "dim")]], width, height, self.border)
        if self.is_enlarged:
            return self._draw_one(self.selected, Cell(0, 0, width, height))
        shape = self._shape(width, height)
        num_rows = -(-len(self.metrics) // shape.columns)
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
        target = self.selected + columns + rows * step
        if 0 <= target < len(self.metrics):
            self.selected = target
        elif rows > 0 and self.selected // step < (len(self.metrics) - 1) // step:
            self.selected = len(self.metrics) - 1

    def action_select(self, place: int) -> None:
        if self.metrics:
            self.selected = place % len(self.metrics)

    def watch_selected(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        if not self.is_enlarged:
            shape = self._shape(*self.size)
            place = self._top_row * shape.columns + shape.place_at(event.x, event.y)
            self.selected = min(place, max(0, len(self.metrics) - 1))
        if event.chain == 2:
            self.action_enlarge()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(0, 1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(0, -1)

    def _shape(self, width: int, height: int) -> GridShape:
        """The grid's shape, one column narrower where a scrollbar is needed."""
        shape = grid_shape(width, height, len(self.metrics))
        if shape.columns * shape.rows < len(self.metrics):
            shape = grid_shape(width - 1, height, len(self.metrics))
        return shape

    def _draw_one(self, place: int, cell: Cell) -> list[Line]:
        """The chart at `place` of the run's charts; blank beyond the last."""
        if place >= len(self.metrics):
            return [[(" " * cell.width, "text")] for _ in range(cell.height)]
        is_selected = place == self.selected and self.has_focus
        return draw_chart(self._chart(place), cell.width, cell.height, is_selected)

    def _chart(self, place: int) -> Chart:
        assert self._view
        metric = self.metrics[place]
        value = self._view.status.metrics.get(metric.name)
        return chart_of(metric, value, self._view.history, self._x, self._x_range)


def _news(view: RunView) -> tuple[object, ...]:
    """What the charts depend on: equal as long as they look the same."""
    return id(view.history), view.publish, len(view.schema), view.status.is_alive
