"""One run, live."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import var
from textual.screen import Screen

from ...shared.run_folder import Run
from ..poll_loop import PollLoop
from ..run_view import RunView
from ..shown_run import Watched
from ..widgets.chart_grid import ChartGrid
from ..widgets.events_panel import EventsPanel
from ..widgets.key_line import KeyLine
from ..widgets.pane import Pane
from ..widgets.run_head import NoticeLine, RunHead
from ..widgets.time_panel import TimePanel

POLL_EVERY_S = 0.25
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("tab", "next pane"),
    ("↑↓←→", "select"),
    ("enter", "enlarge"),
    ("esc", "all runs"),
)


class RunSource(Protocol):
    """Where views of one run come from; `RunPoller` is the one that reads pages."""

    run: Run

    def poll(self) -> RunView: ...

    def close(self) -> None: ...


class RunScreen(Screen[None], inherit_bindings=False):
    """How a run is doing, its curves, where its time goes, and what happened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "back", "make small again, or back to all runs"),
        Binding("tab", "app.focus_next", "next, previous pane"),
        Binding("shift+tab", "app.focus_previous", "next, previous pane"),
    ]
    AUTO_FOCUS = "#charts"
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (56, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-tiny"),
        (14, "-short"),
        (22, "-middle"),
        (34, "-tall"),
        (50, "-huge"),
    ]

    run_view: var[RunView | None] = var(None, init=False)

    class ViewArrived(Message):
        """The poller looked at the run."""

        def __init__(self, view: RunView) -> None:
            super().__init__()
            self.view = view

    class Closed(Message):
        """Somebody wants to leave `run` for the list of all."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run = run

    def __init__(self, source: RunSource) -> None:
        super().__init__()
        self._run = source.run
        self._loop = PollLoop(
            poll=source.poll,
            deliver=lambda view: self.post_message(self.ViewArrived(view)),
            interval_s=lambda _: POLL_EVERY_S,
            close=source.close,
        )

    def compose(self) -> ComposeResult:
        yield RunHead()
        yield NoticeLine()
        yield ChartGrid()
        with Horizontal(id="bottom"):
            yield TimePanel()
            yield EventsPanel()
        yield KeyLine(_KEYS)

    def on_mount(self) -> None:
        self._loop.start()

    def on_unmount(self) -> None:
        self._loop.stop()

    def on_run_screen_view_arrived(self, message: ViewArrived) -> None:
        self.run_view = message.view

    def watch_run_view(self, view: RunView | None) -> None:
        if view is None:
            return
        self.query_one(RunHead).show(view)
        self.query_one(NoticeLine).show(view)
        self.query_one(ChartGrid).show([Watched(view)])
        self.query_one(TimePanel).show(view)
        self.query_one(EventsPanel).show(view)

    def on_pane_enlarged(self, message: Pane.Enlarged) -> None:
        self.set_class(message.pane.is_enlarged, f"-only-{message.pane.id}")

    def action_back(self) -> None:
        """Make the enlarged pane small; leave where none is."""
        enlarged = [pane for pane in self.query(Pane) if pane.is_enlarged]
        for pane in enlarged:
            pane.is_enlarged = False
        if not enlarged:
            self.post_message(self.Closed(self._run))
