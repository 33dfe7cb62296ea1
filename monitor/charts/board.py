"""The charts of one or several runs: which there are, what is on them, what keys and mouse do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...shared import Event, Metric
from ..runs.list.filter_terms import FilterError
from ..runs.reading.alerts import Alert
from ..runs.reading.run_view import RunView
from .chart import Chart, column_of, x_at
from .choice import chart_of, charted, says_nothing
from .layers import Mark
from .options import ChartOptions
from .sections import ALL, HIDDEN, Section, arranged
from .shown_run import ShownRun, Watched, shown_run
from .x_axis import share_of, whole_range, window_between

_ZOOM = 0.6  # of what was shown is shown after one step
_DRAG_CELLS = 2  # a mouse that moved less has clicked
MAX_MARKS = 32


class ChartBoard:
    """The state of the grid of charts. Whatever changes how charts look returns new `ChartOptions`.

    `metrics` has one for each place: that of a chart, or of the heading of a closed group.
    `problem` is the error in the filter; the last valid filter stays in use.
    """

    def __init__(self) -> None:
        self.metrics: list[Metric] = []
        self.sections: list[Section] = []
        self.problem = ""
        self._understood: tuple[str, ...] = ()
        self.options = ChartOptions()
        self.whole = (0.0, 0.0)
        self.runs: list[ShownRun] = []
        self.watched: tuple[Watched, ...] = ()
        self._alerts: tuple[Alert, ...] = ()
        self._marks: tuple[Mark, ...] = ()

    def show(self, watched: Sequence[Watched], alerts: Sequence[Alert]) -> bool:
        """Take the runs, the one in front first; returns whether anything looks different now."""
        before = [one.news() for one in self.watched], self._alerts
        self.watched, self._alerts = tuple(watched), tuple(alerts)
        if before == ([one.news() for one in self.watched], self._alerts):
            return False
        self._prepare()
        return True

    def choose(self, options: ChartOptions) -> None:
        """Draw as `options` say from now on."""
        is_same = all(
            getattr(options, name) == getattr(self.options, name)
            for name in ("x_count", "words", "arrangement")
        )
        is_same &= options.window.width == self.options.window.width
        self.options = options
        if not is_same:
            self._prepare()

    def chart(self, place: int) -> Chart:
        """The chart at `place` of the metrics."""
        metric = self.metrics[place]
        chart = chart_of(metric, self.runs, self.options, self.whole, self._marks)
        chart = replace(chart, others=tuple(m.name for m in self.metrics if m is not metric))
        is_pinned = metric.name in self.options.arrangement.pinned
        if is_pinned and self.sections[0].key == ALL:  # no heading says so
            chart = replace(chart, title=f"{chart.title} pinned")
        return chart

    @property
    def num_hidden(self) -> int:
        return sum(section.num_charts for section in self.sections if section.key == HIDDEN)

    def next_chart(self, place: int, step: int) -> int | None:
        """The place of the next chart after `place`, or before it; headings are none."""
        charts = [p for one in self.sections if one.is_open for p in range(one.start, one.end)]
        if step > 0:
            return next((other for other in charts if other > place), None)
        return next((other for other in reversed(charts) if other < place), None)

    def zoomed(self, steps: int) -> ChartOptions:
        """Around the cursor; without one the newest end, or the middle of a part before it."""
        window, cursor = self.options.window, self.options.cursor
        about = 0.5 if window.width is not None and window.end is not None else 1.0
        if cursor is not None:
            about = min(max(share_of(cursor, window.shown(self.whole)), 0.0), 1.0)
        return self.zoomed_about(steps, about)

    def zoomed_about(self, steps: int, about: float) -> ChartOptions:
        window = self.options.window.zoomed(self.whole, _ZOOM**steps, about)
        return replace(self.options, window=window)

    def panned(self, share: float) -> ChartOptions:
        return replace(self.options, window=self.options.window.panned(self.whole, share))

    def with_cursor_moved(self, place: int, width: int, cells: int) -> ChartOptions:
        """The cursor so many cells further in the chart at `place`; at its end at first."""
        chart = self.chart(place)
        column = float(width)
        if chart.cursor is not None:
            column = column_of(chart, chart.cursor, width) + cells
        return replace(self.options, cursor=self._x_at(chart, column, width))

    def with_cursor_under(self, place: int, width: int, column: int) -> ChartOptions:
        return replace(self.options, cursor=self._x_at(self.chart(place), column, width))

    def at_event(self, event: Event) -> ChartOptions | None:
        """The cursor where the run in front was at an event, in the middle of what is shown unless
        it is in there anyway; None where nobody knows.
        """
        x = self.runs[0].place_of_event(event) if self.runs else None
        if x is None:
            return None
        window = self.options.window
        low, high = window.shown(self.whole)
        if not low <= x <= high:
            window = window.panned(self.whole, share_of(x, (low, high)) - 0.5)
        return replace(self.options, cursor=x, window=window)

    def wall_ns_at_cursor(self) -> int | None:
        """When the run in front was at the cursor; None without a cursor, and before its time."""
        cursor = self.options.cursor
        return self.runs[0].wall_ns_at(cursor) if self.runs and cursor is not None else None

    def share_under(self, place: int, width: int, column: int) -> float:
        """How far along the shown part of the axis a cell of the chart lies, from 0 to 1."""
        x = self._x_at(self.chart(place), column, width)
        return min(max(share_of(x, self.options.window.shown(self.whole)), 0.0), 1.0)

    def chart_with_selection(self, place: int, width: int, start: int, end: int) -> Chart:
        """The chart at `place` while the mouse is dragged from one of its cells to another."""
        chart = self.chart(place)
        if abs(end - start) < _DRAG_CELLS:
            return chart
        selection = x_at(chart, start, width), x_at(chart, end, width)
        return replace(chart, selection=selection)

    def dragged(self, place: int, width: int, start: int, end: int) -> ChartOptions:
        """The part between two cells of a chart; the cursor where the mouse hardly moved."""
        if abs(end - start) < _DRAG_CELLS:
            return self.with_cursor_under(place, width, end)
        chart = self.chart(place)
        low, high = (self._x_at(chart, column, width) for column in sorted((start, end)))
        return replace(self.options, window=window_between(low, high, self.whole), cursor=None)

    def _x_at(self, chart: Chart, column: float, width: int) -> float:
        """On the axis of all charts, also under a chart that has its own."""
        low, high = self.options.window.shown(self.whole)
        x = x_at(chart, column, width)
        if chart.x_range == (low, high):
            return x
        return low + share_of(x, chart.x_range) * (high - low)

    def _prepare(self) -> None:
        if not self.watched:
            return
        views = [one.view for one in self.watched]
        self._find(views)
        longest = max(views, key=lambda view: view.elapsed_s or 0.0)
        known = {run.view.status.run: run for run in self.runs}
        self.runs = [
            shown_run(one, self.options.x_count, longest, known.get(one.view.status.run))
            for one in self.watched
        ]
        is_alive = any(view.status.is_alive for view in views)
        axes = [run.axis for run in self.runs]
        self.whole = whole_range(axes, is_alive, self.options.window.width)
        self._marks = tuple(
            Mark(place, alert.level)
            for alert in self._alerts[-MAX_MARKS:]
            if (place := self.runs[0].place_of(alert.publish)) is not None
        )

    def _find(self, views: Sequence[RunView]) -> None:
        """The metrics that the filter leaves, each at its place; last those that say nothing."""
        schemas = [view.schema for view in views]
        try:
            found, self.problem = charted(schemas, self.options.words), ""
            self._understood = self.options.words
        except FilterError as error:
            found, self.problem = charted(schemas, self._understood), str(error)
        histories = [view.history for view in views]
        found.sort(key=lambda metric: says_nothing(metric.name, histories))
        is_search = bool(self._understood)
        num_all = len(charted(schemas)) if is_search else 0
        self.sections, self.metrics = arranged(found, self.options.arrangement, num_all, is_search)
