"""The run that is selected in the list: its curve, its settings and its last events."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from ...shared.runs.run_folder import Run
from ..charts.board import ChartBoard
from ..charts.chart import draw_chart
from ..charts.charted_metrics import main_metric
from ..charts.shown_run import Watched
from ..panels.event_lines import brief_lines, with_alerts
from ..render.lines import Line, boxed
from ..runs.reading.poll_loop import PollLoop
from ..runs.reading.run_source import RunSource
from ..runs.reading.run_view import RunView
from .config_panel import own_lines
from .drawing import Drawing

POLL_EVERY_S = 1.0
MIN_HEIGHT = 12


class RunPreview(Drawing):
    """Below a list that leaves room for it. It polls the run itself, as long as it is shown."""

    class ViewArrived(Message):
        """The poller looked at the run."""

        def __init__(self, run: Run, view: RunView) -> None:
            super().__init__()
            self.run, self.view = run, view

    def __init__(self, source_of: Callable[[Run], RunSource]) -> None:
        super().__init__(id="preview")
        self._source_of = source_of
        self._run: Run | None = None
        self._loop: PollLoop[RunView] | None = None
        self._view: RunView | None = None
        self._board = ChartBoard()

    def show(self, run: Run | None, room: int = 0) -> None:
        """Show `run` in `room` rows, where that is enough; None shows nothing."""
        run = run if room >= MIN_HEIGHT else None
        self.styles.height = room
        if run == self._run:
            return
        if self._loop:
            self._loop.stop()
        self._run, self._loop, self._view = run, None, None
        self.display = False  # until there is something to see
        if run:
            source = self._source_of(run)
            self._loop = PollLoop(
                poll=source.poll,
                deliver=lambda view: self.post_message(self.ViewArrived(run, view)),
                interval_s=lambda _: POLL_EVERY_S,
                close=source.close,
            )
            self._loop.start()

    def on_unmount(self) -> None:
        self.show(None)

    def on_run_preview_view_arrived(self, message: ViewArrived) -> None:
        if message.run == self._run:
            self._view = message.view
            self._board.show([Watched(message.view)], message.view.alerts)
            self.display = bool(self._board.metrics or message.view.events)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        if self._view is None:
            return []
        left = width // 2
        right, upper = width - left, height // 2
        events = with_alerts(self._view.events, self._view.alerts)
        last = brief_lines(events, right - 4)[2 - (height - upper) :]
        beside = [
            *boxed([("configuration", "text")], own_lines(self._view, right - 4), right, upper,
                   "border"),
            *boxed([("events", "text")], last, right, height - upper, "border"),
        ]  # fmt: skip
        return [one + other for one, other in zip(self._chart(left, height), beside, strict=True)]

    def _chart(self, width: int, height: int) -> list[Line]:
        names = [metric.name for metric in self._board.metrics]
        if not names:
            return boxed([("charts", "text")], [[("no metrics", "dim")]], width, height, "border")
        main = main_metric(names) or names[0]
        return draw_chart(self._board.chart(names.index(main)), width, height)
