"""All runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.run_folder import Run
from ..runs.filter_terms import Filter, FilterError, parse_filter
from ..runs.poll_loop import PollLoop
from ..runs.run_filter import filtered, listed
from ..runs.run_order import next_order, ordered
from ..runs.runs_poller import RunRow, RunsView
from ..widgets.filter_line import FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.runs_head import RunsHead
from ..widgets.runs_table import RunsTable
from .monitor_screen import MonitorScreen
from .sweep_screen import SweepScreen

POLL_EVERY_S = 1.0
_SOON_S = 0.05
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("↑↓", "select"),
    ("enter", "open"),
    ("space", "mark"),
    ("p", "reference"),
    ("/", "filter"),
    ("s", "sort"),
)


class RunsSource(Protocol):
    """Where views of all runs come from; `RunsPoller` is the one that reads pages."""

    def poll(self) -> RunsView: ...


class RunsScreen(MonitorScreen):
    """The list of runs; it rests while it is covered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter by words and values"),
        Binding("s", "sort", "sort by the next column (or click it)"),
        Binding("S", "reverse", "sort the other way round"),
        Binding("w", "sweep", "the sweep of the selected run, or the newest"),
        Binding("e", "edit('note')", "edit the run's note"),
        Binding("E", "edit('tags')", "edit the run's tags"),
        Binding("escape", "clear", "unmark all, drop the filter"),
    ]
    AUTO_FOCUS = "#runs"

    class ViewArrived(Message):
        """The poller looked at the runs."""

        def __init__(self, view: RunsView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, source: RunsSource, selected: Run | None = None) -> None:
        super().__init__()
        self._selected = selected
        self._view: RunsView | None = None
        self._filter = ""
        self._understood: Filter = ((),)
        self._loop = PollLoop(
            poll=source.poll,
            deliver=lambda view: self.post_message(self.ViewArrived(view)),
            interval_s=lambda view: POLL_EVERY_S if view.is_complete else _SOON_S,
        )

    def compose(self) -> ComposeResult:
        yield RunsHead()
        yield RunsTable(self._selected)
        yield FilterLine()
        yield KeyLine(_KEYS)

    def on_screen_resume(self) -> None:
        self._loop.start()

    def on_screen_suspend(self) -> None:
        self._loop.stop()

    def on_unmount(self) -> None:
        self._loop.stop()

    def on_runs_screen_view_arrived(self, message: ViewArrived) -> None:
        self._view = message.view
        self.show_runs()

    def show_runs(self) -> None:
        """The runs that the filter leaves, in the order people want."""
        if self._view is None:
            return
        line = self.query_one(FilterLine)
        found, error = self._found(self._view.rows)
        line.complain(error)
        warning = error if error and not line.display else self.session.warning
        shown = ordered(found, self.settings.order, self.settings.reversed_order)
        self.query_one(RunsHead).show(
            listed(self._view.rows, self._understood), len(shown), self._filter, warning
        )
        self.query_one(RunsTable).show(
            shown,
            self.session.comparison,
            (self.settings.order, self.settings.reversed_order),
            is_filtered=bool(self._filter),
        )

    def _found(self, rows: Sequence[RunRow]) -> tuple[list[RunRow], str]:
        """The runs that the filter leaves, and what is wrong with it: then those that the last one
        left which was understood.
        """
        try:
            wanted = parse_filter(self._filter)
            found = filtered(rows, wanted)
        except FilterError as error:
            try:
                return filtered(rows, self._understood), str(error)
            except FilterError:  # the runs that had what it asks for are gone
                return listed(rows), str(error)
        self._understood = wanted
        return found, ""

    def on_filter_line_changed(self, message: FilterLine.Changed) -> None:
        """What is not understood stays open, to be mended or dropped."""
        self._filter = message.text.strip()
        is_wrong = self._view is not None and bool(self._found(self._view.rows)[1])
        if message.is_done and not is_wrong:
            self.query_one(FilterLine).close()
            self.query_one(RunsTable).focus()
        self.show_runs()

    def on_runs_table_marked(self, message: RunsTable.Marked) -> None:
        comparison = self.session.comparison
        self.session.comparison = (
            comparison.with_reference_toggled(message.run)
            if message.is_reference
            else comparison.with_mark_toggled(message.run)
        )
        self.show_runs()

    def on_runs_table_ordered(self, message: RunsTable.Ordered) -> None:
        self.sort_by(message.order)

    def sort_by(self, order: str) -> None:
        """By a column; the other way round when it is the one already."""
        is_again = order == self.settings.order
        self.change_settings(
            order=order, reversed_order=is_again and not self.settings.reversed_order
        )
        self.show_runs()

    def action_sweep(self) -> None:
        chosen = self.query_one(RunsTable).selected
        rows = self._view.rows if self._view else ()
        wanted = next((row.config.get("sweep", "") for row in rows if row.run == chosen), "")
        self.app.push_screen(SweepScreen(str(wanted)))

    def action_filter(self) -> None:
        self.query_one(FilterLine).open(self._filter)

    def action_edit(self, what: str) -> None:
        selected = self.query_one(RunsTable).selected
        for row in self._view.rows if self._view else ():
            if row.run == selected:
                self.post_message(self.NotesWanted(row.run, row.notes, what))

    def action_sort(self) -> None:
        self.sort_by(next_order(self.settings.order))

    def action_reverse(self) -> None:
        self.sort_by(self.settings.order)

    def action_clear(self) -> None:
        self._filter = ""
        self.session.comparison = type(self.session.comparison)()
        self.query_one(FilterLine).close()
        self.show_runs()
