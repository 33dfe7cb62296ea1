"""A sweep: its trials, the best of them, and what matters."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.runs.run_folder import Run, runs_folder
from ..render.lines import Line, line_width, spread
from ..runs.reading.poll_loop import PollLoop
from ..sweeps.lines import summary
from ..sweeps.sweeps_poller import SweepsPoller, SweepView
from ..widgets.drawing import Drawn
from ..widgets.key_line import KeyLine
from ..widgets.list_table import ListTable
from ..widgets.trials_table import TrialsTable
from .monitor_screen import PollingScreen

POLL_EVERY_S = 1.0
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("esc", "back"),
    ("↑↓", "select"),
    ("enter", "open"),
    ("s", "sort"),
    ("v", "pictures"),
    ("tab", "next sweep"),
)


def _head(width: int, _: int, view: SweepView) -> list[Line]:
    """The uppermost row: which sweep, and how it goes."""
    name = view.sweep.name if view.sweep else ""
    title: Line = [(" operant", "bar_strong"), ("  sweep ", "bar_dim"), (name, "bar_focus")]
    if view.num_sweeps > 1:
        title.append((f" {view.place}/{view.num_sweeps}", "bar_dim"))
    room = width - line_width(title) - 3
    words = summary(view.table, view.state, room) if view.table else ""
    return [spread(title, [(f"{words} ", "bar_text")], width, "bar_text")]


class SweepScreen(PollingScreen):
    """One sweep at a time; it rests while it is covered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace,w", "back", "back to the runs"),
        Binding("tab", "turn(1)", "the next, the previous sweep"),
        Binding("shift+tab", "turn(-1)", "the next, the previous sweep"),
    ]
    AUTO_FOCUS = "#trials"

    class ViewArrived(Message):
        """The poller looked at the sweep."""

        def __init__(self, view: SweepView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, wanted: str = "") -> None:
        super().__init__()
        self._poller = SweepsPoller(wanted)
        self._loop = PollLoop(
            poll=self._poller.poll,
            deliver=lambda view: self.post_message(self.ViewArrived(view)),
            interval_s=lambda view: POLL_EVERY_S,
        )

    def compose(self) -> ComposeResult:
        yield Drawn("sweep-head", _head)
        yield TrialsTable()
        yield KeyLine(_KEYS)

    def on_sweep_screen_view_arrived(self, message: ViewArrived) -> None:
        self.query_one("#sweep-head", Drawn).show(message.view)
        self.query_one(TrialsTable).show(message.view)

    def on_list_table_opened(self, message: ListTable.Opened) -> None:
        """Show the runs of a trial on the same charts."""
        trial = message.table.row
        runs = [Run(runs_folder() / run_id) for run_id in trial.runs]
        there = [run for run in runs if run.folder.is_dir()]
        if there:
            self.post_message(self.RunOpened(there[0], there[1:]))
        else:
            self.notify(f"trial {trial.number} has no run that could be shown")

    def action_back(self) -> None:
        self.app.pop_screen()

    def action_turn(self, sweeps: int) -> None:
        self._poller.turn(sweeps)
        self._loop.stop()
        self._loop.start()
