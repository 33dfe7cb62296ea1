"""The processes of this machine, and signals to them."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.errors import OperantError
from ...shared.page.requests import give_reason
from ...shared.runs.run_folder import Run
from ..render.formatting import format_bytes, format_count
from ..render.lines import Line, fit_middle, line_width, spread
from ..runs.list.choices import Choice
from ..runs.list.filter_terms import FilterError, words_filter
from ..runs.list.run_values import STAMP
from ..runs.machine.process_order import ORDERS, arranged
from ..runs.machine.processes import ProcessRow, ProcessSampler, send_signal
from ..runs.reading.poll_loop import PollLoop
from ..runs.reading.run_feed import MACHINE_EVERY_S
from ..widgets.choice_line import ChoiceLine
from ..widgets.drawing import Drawing
from ..widgets.filter_line import FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.process_table import ProcessTable
from .monitor_screen import PollingScreen
from .signal_dialog import SignalDialog

_SECOND_AFTER_S = 0.25  # the second sample: the first knows of no load
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("esc", "back"),
    ("↑↓", "select"),
    ("enter", "signal"),
    ("/", "filter"),
    ("s", "sort"),
    ("v", "tree"),
)


class ProcessesHead(Drawing):
    """The two uppermost rows: what the processes of the selected run, of other runs and all others
    take.
    """

    def __init__(self, run: Run | None) -> None:
        super().__init__(id="processes-head")
        self._run, self._run_name = run, STAMP.sub("", run.name) if run else ""
        self._rows: Sequence[ProcessRow] = ()

    def show(self, rows: Sequence[ProcessRow]) -> None:
        self._rows = rows
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        own = [row for row in self._rows if row.member and row.member.run == self._run]
        runs = [row for row in self._rows if row.member and row.member.run != self._run]
        rest = [row for row in self._rows if not row.member]
        title: Line = [(" operant", "bar_strong"), ("  processes", "bar_dim")]
        if not self._rows:
            return [spread(title, [], width, "bar_text"), spread([], [], width, "bar_text")]
        title.append((f"  {format_count(len(self._rows))}", "bar_dim"))
        use = ""
        if self._run:
            use = f"  {_words(own)} " if own else "  no process here "
        name = fit_middle(self._run_name, width - line_width(title) - len(use) - 2)
        others = f"{'other runs' if self._run else 'runs'} {_words(runs)} · others {_words(rest)} "
        return [
            spread(title, [(name, "bar_focus"), (use, "bar_text")], width, "bar_text"),
            spread([], [(others, "bar_dim")], width, "bar_text"),
        ]


def _words(rows: Sequence[ProcessRow]) -> str:
    """`1.8 cores 1.2 GiB`."""
    cores = sum(row.cpu_cores or 0.0 for row in rows)
    return f"{cores:.1f} cores {format_bytes(sum(row.memory_bytes for row in rows))}"


class ProcessesScreen(PollingScreen):
    """All processes; they are sampled while the screen is in front. Those of `run` are marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace,u", "back", "drop the filter, or back"),
        Binding("slash", "filter", "filter by words"),
        Binding("s", "sort", "sort by a column (or click it)"),
        Binding("S", "reverse", "sort the other way round"),
        Binding("v", "tree", "as a tree, or as a list"),
        Binding("enter", "ask('signal')", "send the process a signal"),
    ]
    AUTO_FOCUS = "#processes"

    class Sampled(Message):
        """The processes were sampled."""

        def __init__(self, rows: tuple[ProcessRow, ...]) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, run: Run | None, is_readonly: bool) -> None:
        super().__init__()
        self._run, self._is_readonly = run, is_readonly
        self._rows: tuple[ProcessRow, ...] = ()
        self._filter, self._is_wanted = "", words_filter("", "processes")
        self._loop = PollLoop(
            poll=ProcessSampler().sample,
            deliver=lambda rows: self.post_message(self.Sampled(rows)),
            interval_s=lambda rows: MACHINE_EVERY_S if _has_load(rows) else _SECOND_AFTER_S,
        )

    def compose(self) -> ComposeResult:
        yield ProcessesHead(self._run)
        yield ProcessTable(self._run)
        yield FilterLine()
        yield ChoiceLine()
        yield KeyLine([key for key in _KEYS if not (self._is_readonly and key[1] == "signal")])

    def on_processes_screen_sampled(self, message: Sampled) -> None:
        if _has_load(message.rows):
            self._rows = message.rows
            self._show()

    def _show(self) -> None:
        order, is_reversed = self.settings.process_order, self.settings.reversed_process_order
        is_tree = self.settings.process_tree
        if self._rows:
            places = arranged(self._rows, self._is_wanted, order, is_reversed, is_tree)
            has_gpus = any(row.gpu_bytes for row in self._rows)
            self.query_one(ProcessTable).show(places, (order, is_reversed), has_gpus)
            self.query_one(ProcessesHead).show(self._rows)
        modes = [f"/{self._filter}"] if self._filter else []
        modes += ["tree"] if is_tree else []
        self.query_one(KeyLine).tell(" · ".join(modes))

    def _search(self, text: str) -> str:
        """Show the processes that the filter leaves. Returns what is wrong with it; then the
        processes stay that the filter before left.
        """
        self._filter, error = text.strip(), ""
        try:
            self._is_wanted = words_filter(self._filter, "processes")
        except FilterError as reason:
            error = str(reason)
        self.query_one(FilterLine).complain(error)
        self._show()
        return error

    def on_filter_line_changed(self, message: FilterLine.Changed) -> None:
        error = self._search(message.text)
        if message.is_done and not error:
            self.query_one(FilterLine).close()
            self.query_one(ProcessTable).focus()

    def on_choice_line_chosen(self, message: ChoiceLine.Chosen) -> None:
        if message.value is not None:
            self._sort_by(message.value)
        self.query_one(ProcessTable).focus()

    def on_process_table_ordered(self, message: ProcessTable.Ordered) -> None:
        self._sort_by(message.order)

    def on_process_table_opened(self) -> None:
        self.action_ask("signal")

    def action_back(self) -> None:
        if self._filter:
            self._search("")
        else:
            self.app.pop_screen()

    def action_filter(self) -> None:
        self.query_one(FilterLine).open(self._filter)

    def action_sort(self) -> None:
        """Ask by what; `enter` takes the next column."""
        names = list(ORDERS)
        place = names.index(self.settings.process_order) + 1
        choices = [Choice(name, name, "column") for name in [*names[place:], *names[:place]]]
        self.query_one(ChoiceLine).open("sort by", choices)

    def action_reverse(self) -> None:
        self._sort_by(self.settings.process_order)

    def action_tree(self) -> None:
        self.change_settings(process_tree=not self.settings.process_tree)
        self._show()

    def action_ask(self, request: str) -> None:
        """Ask which signal. `--readonly` removes all keys that `ask`."""
        row = self.query_one(ProcessTable).row
        if row is None or self._is_readonly:
            return

        def chosen(number: signal.Signals | None) -> None:
            if number:
                self._send(row, number)

        self.app.push_screen(SignalDialog(row), chosen)

    def _send(self, row: ProcessRow, number: signal.Signals) -> None:
        run = row.member.run if row.member and row.member.is_trainer else None
        asks_to_stop = number in (signal.SIGINT, signal.SIGTERM) and row.process.is_running()
        if run and asks_to_stop and run.is_own():
            give_reason(run, "from the monitor")
        try:
            send_signal(row, number)
        except OperantError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self.notify(f"sent {number.name} to process {row.pid}", markup=False)

    def _sort_by(self, order: str) -> None:
        """By a column; the other way round when it is the one already."""
        is_again = order == self.settings.process_order
        is_reversed = is_again and not self.settings.reversed_process_order
        self.change_settings(process_order=order, reversed_process_order=is_reversed)
        self._show()


def _has_load(rows: Sequence[ProcessRow]) -> bool:
    return any(row.cpu_cores is not None for row in rows)
