"""The charts of a run: as many as fit, the others by scrolling; one is selected, or enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared import Event
from ..charts.chart import draw_chart
from ..charts.grid_layout import GridLayout
from ..charts.grid_shape import Cell
from ..charts.options import ChartOptions
from ..charts.sections import Section, draw_heading
from ..charts.shown_run import Watched
from ..charts.x_axis import XWindow
from ..render.lines import Line, boxed
from ..render.scroll import scrollbar
from ..runs.reading.alerts import Alert
from .arranging import Arranging


class ChartGrid(Arranging):
    """All charts in one widget: drawing them costs no layout, however many there are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1, 0)", "select a chart"),
        Binding("right", "move(1, 0)", "select a chart"),
        Binding("up", "move(0, -1)", "select a chart"),
        Binding("down", "move(0, 1)", "select a chart"),
        Binding("home", "select(0)", "select the first, the last chart"),
        Binding("end", "select(-1)", "select the first, the last chart"),
        Binding("z", "zoom(1)", "zoom in, out (ctrl+wheel, or drag)", tooltip="zoom in"),
        Binding("Z", "zoom(-1)", "zoom in, out (ctrl+wheel, or drag)", tooltip="zoom out"),
        Binding("shift+left", "pan(-0.25)", "move the zoomed part to the left (drag)"),
        Binding("shift+right", "pan(0.25)", "move the zoomed part to the right (drag)"),
        Binding("comma", "cursor(-1)", "cursor: the values there (click)"),
        Binding("full_stop", "cursor(1)", "cursor: the values there (click)"),
        Binding("less_than_sign", "cursor(-10)", "cursor, ten cells at a time"),
        Binding("greater_than_sign", "cursor(10)", "cursor, ten cells at a time"),
        Binding("y", "log('y')", "logarithmic Y of the selected chart"),
        Binding("x", "log('x')", "logarithmic X of the selected chart"),
        Binding("f", "full", "full range of Y of the selected chart"),
        Binding("a", "next_axis", "axis: env steps, iterations, wall or training time"),
        Binding("s", "smooth", "smooth more, and not at all after the most"),
        Binding("d", "difference", "differences to the reference"),
    ]
    KEYS = (("z", "zoom"), (",.", "cursor"), ("y", "log"), ("s", "smooth"), ("a", "axis"))

    class OptionsChanged(Message):
        """Somebody wants the charts otherwise."""

        def __init__(self, options: ChartOptions) -> None:
            super().__init__()
            self.options = options

    def __init__(self) -> None:
        super().__init__(id="charts")
        self._dragged_from: tuple[int, int] | None = None  # a chart, and a cell of its width
        self._dragged_to = 0  # another cell
        self._pans = False  # whether a drag moves the zoomed part, and does not select one
        self._is_clicked = False  # by the first click of a double click

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the names of the metrics must have."""
        return self.options.words

    @words.setter
    def words(self, words: tuple[str, ...]) -> None:
        self.options = self.options.with_words(words)

    @property
    def problem(self) -> str:
        """The error in `words`; empty if they are valid."""
        return self.board.problem

    def show(self, watched: Sequence[Watched], alerts: Sequence[Alert] = ()) -> None:
        """Draw the runs, the one in front first, if anything changed since the last time."""
        name = self._selected_name()
        if self.board.show(watched, alerts):
            self.select_again(name)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.board.metrics:
            return self._draw_excuse(width, height)
        if self.is_enlarged:
            return self._draw_one(self.selected, Cell(0, 0, width, height))
        layout = self.layout_of_charts()
        self._top = layout.top
        lines: list[Line] = [[] for _ in range(height)]
        for placed in layout.placed:
            if placed.band.heading:
                lines[placed.y] = self._draw_heading(placed.band.heading, layout.width)
                continue
            for column, cell in enumerate(layout.cells(placed)):
                place = placed.band.first + column if column < placed.band.num else None
                for y, line in enumerate(self._draw_one(place, cell)):
                    lines[cell.y + y] += line
        if layout.is_all:
            return lines
        return self._with_scrollbar(lines, layout)

    def action_move(self, columns: int, rows: int) -> None:
        """Select the chart that many places away; enlarged charts stand in one row."""
        if not self.board.metrics:
            return
        if not self.is_enlarged:
            self.selected = self.layout_of_charts().neighbour(self.selected, columns, rows)
            return
        target = self.board.next_chart(self.selected, columns + rows)
        if target is not None:
            self.selected = target

    def action_select(self, place: int) -> None:
        if self.board.metrics:
            self.selected = place % len(self.board.metrics)

    def action_enlarge(self) -> None:
        """The selected chart; where it is a heading, its group opens."""
        section = self.selected_section
        if section and not section.is_open and not self.is_enlarged:
            self.toggle_section(section.key)
        else:
            super().action_enlarge()

    def action_zoom(self, steps: int) -> None:
        self.options = self.board.zoomed(steps)

    def action_pan(self, share: float) -> None:
        self.options = self.board.panned(share)

    def action_cursor(self, cells: int) -> None:
        if self.selected_chart:
            width = self._cell(self.selected).width
            self.options = self.board.with_cursor_moved(self.selected, width, cells)

    def go_to(self, event: Event) -> None:
        """The cursor where the run in front was at an event; the part that is shown moves there."""
        options = self.board.at_event(event)
        if options:
            self.options = options

    def action_log(self, axis: str) -> None:
        """Logarithmic x or y of the selected chart, or linear again."""
        name = self.selected_chart
        if name:
            self.options = self.options.with_log_toggled(axis, name)

    def action_full(self) -> None:
        """All values on the vertical axis of the selected chart, or what most of it needs."""
        name = self.selected_chart
        if name:
            self.options = self.options.with_full_toggled(name)

    def action_next_axis(self) -> None:
        self.options = self.options.with_next_count()

    def action_smooth(self) -> None:
        self.options = self.options.with_more_smoothing()

    def action_difference(self) -> None:
        runs = self.board.runs  # none while they are read
        if runs and not any(run.is_reference for run in runs):
            self._say("there is no reference; p in the list pins one")
            return
        shows_difference = not self.options.shows_difference
        self.options = replace(self.options, shows_difference=shows_difference)

    def watch_selected(self) -> None:
        self.redraw()

    def watch_options(self) -> None:
        name = self._selected_name()
        self.board.choose(self.options)
        self.select_again(name)
        self.redraw()
        self.post_message(self.OptionsChanged(self.options))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        heading, place = self._under(event.x, event.y)
        if heading:
            self.toggle_section(heading.key)
        if place is not None:
            self.selected = place
            self._dragged_to = event.x - self._cell(place).x
            self._dragged_from = place, self._dragged_to
            self._pans = self.options.window.width is not None and not event.ctrl
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """A drag moves the zoomed part; where all is shown, it selects a part to zoom to."""
        if self._dragged_from is None:
            return
        place = self._dragged_from[0]
        cell, before = self._cell(place), self._dragged_to
        self._dragged_to = event.x - cell.x
        if self._pans:
            was, now = (
                self.board.share_under(place, cell.width, column)
                for column in (before, self._dragged_to)
            )
            self.options = self.board.panned(was - now)
        self.redraw()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The end of a click puts the cursor there; the end of a drag shows the selected part."""
        self.release_mouse()
        if self._dragged_from is not None:
            (place, start), self._dragged_from = self._dragged_from, None
            cell = self._cell(place)
            end = event.x - cell.x
            if not self._pans or end == start:
                self.options = self.board.dragged(place, cell.width, start, end)
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        """A double click shows all of the axis again; where all of it is shown, it enlarges the
        chart. If the first click was on the list of runs and opened this run, nothing happens.
        """
        is_double = event.chain == 2 and self._is_clicked
        self._is_clicked = event.chain == 1
        if not is_double or self._under(event.x, event.y)[1] is None:
            return
        if self.options.window.width is not None:
            self.options = replace(self.options, window=XWindow())
        else:
            self.action_enlarge()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn_wheel(event, -1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn_wheel(event, 1)

    def _turn_wheel(self, event: events.MouseEvent, up: int) -> None:
        """On an enlarged chart, or with ctrl, it zooms around the mouse; else it goes through the
        charts.
        """
        place = self._under(event.x, event.y)[1]
        if place is None or not (event.ctrl or self.is_enlarged):
            self.action_move(0, -up)
            return
        cell = self._cell(place)
        share = self.board.share_under(place, cell.width, event.x - cell.x)
        self.options = self.board.zoomed_about(up, share)

    def _under(self, x: int, y: int) -> tuple[Section | None, int | None]:
        """The heading, or the place of the chart, under the mouse."""
        if not self.board.metrics:
            return None, None
        if self.is_enlarged:
            return None, self.selected
        return self.layout_of_charts().at(x, y)

    def _cell(self, place: int) -> Cell:
        """The position of the chart at `place`."""
        if self.is_enlarged:
            return Cell(0, 0, *self.size)
        return self.layout_of_charts().cell(place)

    def _selected_name(self) -> str:
        metrics = self.board.metrics
        return metrics[self.selected].name if self.selected < len(metrics) else ""

    def _draw_one(self, place: int | None, cell: Cell) -> list[Line]:
        """The chart at `place` of the run's charts; blank beyond the last."""
        if place is None:
            return [[(" " * cell.width, "text")] for _ in range(cell.height)]
        is_selected = place == self.selected and self.has_focus
        chart = self.board.chart(place)
        if self._dragged_from is not None and place == self._dragged_from[0] and not self._pans:
            start = self._dragged_from[1]
            chart = self.board.chart_with_selection(place, cell.width, start, self._dragged_to)
        return draw_chart(chart, cell.width, cell.height, is_selected)

    def _draw_heading(self, section: Section, width: int) -> Line:
        has_keys = self.has_focus and section == self.selected_section
        return draw_heading(section, width, has_keys)

    def _with_scrollbar(self, lines: list[Line], layout: GridLayout) -> list[Line]:
        bar = scrollbar(layout.top, len(layout.placed), len(layout.bands), len(lines))
        return [line + mark for line, mark in zip(lines, bar, strict=True)]

    def _draw_excuse(self, width: int, height: int) -> list[Line]:
        if not self.board.watched:
            words = "waiting for the run"
        elif self.options.words:
            words = f"no metric's name fits {' '.join(self.options.words)}"
        elif any(one.view.status.is_alive for one in self.board.watched):
            words = "waiting for the first metric"
        else:
            words = "the run has no metrics"
        return boxed([("charts", "text")], [[], [(words, "dim")]], width, height, self.border)
