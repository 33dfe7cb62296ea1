"""All runs."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from ...shared.run_folder import Run
from ..poll_loop import PollLoop
from ..runs_poller import RunsView
from ..widgets.key_line import KeyLine
from ..widgets.runs_head import RunsHead
from ..widgets.runs_table import RunsTable

POLL_EVERY_S = 1.0
_SOON_S = 0.05
_KEYS = (("q", "quit"), ("?", "help"), ("↑↓", "select"), ("enter", "open"))


class RunsSource(Protocol):
    """Where views of all runs come from; `RunsPoller` is the one that reads pages."""

    def poll(self) -> RunsView: ...


class RunsScreen(Screen[None], inherit_bindings=False):
    """The list of runs; it rests while it is covered."""

    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "#runs"

    class ViewArrived(Message):
        """The poller looked at the runs."""

        def __init__(self, view: RunsView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, source: RunsSource, selected: Run | None = None) -> None:
        super().__init__()
        self._selected = selected
        self._loop = PollLoop(
            poll=source.poll,
            deliver=lambda view: self.post_message(self.ViewArrived(view)),
            interval_s=lambda view: POLL_EVERY_S if view.is_complete else _SOON_S,
        )

    def compose(self) -> ComposeResult:
        yield RunsHead()
        yield RunsTable(self._selected)
        yield KeyLine(_KEYS)

    def on_screen_resume(self) -> None:
        self._loop.start()

    def on_screen_suspend(self) -> None:
        self._loop.stop()

    def on_unmount(self) -> None:
        self._loop.stop()

    def on_runs_screen_view_arrived(self, message: ViewArrived) -> None:
        self.query_one(RunsHead).show(message.view)
        self.query_one(RunsTable).show(message.view)
