"""All runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.runs.run_elsewhere import RunElsewhere
from ...shared.runs.run_folder import Run, runs_folder
from ..charts.charted_metrics import RETURN, main_heading, main_metric
from ..charts.shown_run import assigned_looks
from ..panels.group_table import group_columns
from ..panels.run_table import draw_count, notice_of, run_columns
from ..render.lines import Line, fit, line_width, spread
from ..runs.list.choices import Choice
from ..runs.list.comparison import MAX_RUNS, Comparison
from ..runs.list.group_source import WatchedGroup
from ..runs.list.run_filter import ListFilter
from ..runs.list.run_groups import NAME, GroupKey, RunGroup, RunGrouper, group_choices
from ..runs.list.run_order import order_choices, ordered, shown_value
from ..runs.list.run_values import known_names
from ..runs.list.runs_poller import Machine, RunRow, RunsView
from ..runs.reading.poll_loop import PollLoop
from ..runs.reading.run_source import RunSource
from ..widgets.choice_line import ChoiceLine
from ..widgets.drawing import Drawn
from ..widgets.filter_line import FilterLine
from ..widgets.key_line import KeyLine
from ..widgets.list_table import ListTable
from ..widgets.run_preview import RunPreview
from ..widgets.runs_table import RunsTable, marks_of
from .monitor_screen import PollingScreen
from .sweep_screen import SweepScreen

POLL_EVERY_S = 1.0
_SOON_S = 0.05
_OTHER_ROWS = 4  # of the screen: its head, that of the list, a free one, the keys
_RETURNS_SOON_S = 0.2
_MOST_LINES = 6  # of machines that do not answer
_NOTHING_FOUND: list[Line] = [
    [], [("   No run fits the filter.", "strong")], [("   esc drops it", "dim")],
]  # fmt: skip
_SORT, _GROUP = "sort by", "group by"
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("↑↓", "select"),
    ("enter", "open"),
    ("space", "mark"),
    ("p", "reference"),
    ("/", "filter"),
    ("s", "sort"),
    ("v", "group"),
)


def _head(
    width: int,
    _: int,
    rows: Sequence[RunRow],
    num_shown: int,
    filter_text: str,
    warning: str,
    by: str,
) -> list[Line]:
    """The title, the number of runs and of those that the filter leaves, and the metric that the
    list shows, if it is the same for all.
    """
    title: Line = [(" operant", "bar_strong"), ("  runs", "bar_dim")]
    if by:
        title.append((f"  by {by}", "bar_focus"))
    if filter_text:
        title.append((f"  /{filter_text}", "bar_focus"))
    if warning:
        title.append((f"  ▲ {warning}", "bar_warning"))
    count = draw_count(rows) if rows else ""
    right: Line = [(f"{num_shown} of {count} " if filter_text else f"{count} ", "bar_dim")]
    mains = {main_metric(row.status.metrics) for row in rows if row.status}
    if RETURN in mains and main_heading(mains) == "return":  # else each row names its metric
        metric: Line = [(f"{RETURN} · ", "bar_dim")]
        right = [*metric, *right] if line_width([*title, *metric, *right]) < width else right
    return [spread(title, right, width, "bar_text")]


def _silent_machines(width: int, height: int, silent: Sequence[Machine]) -> list[Line]:
    """A line for each machine that nothing new comes from, with why."""
    lines: list[Line] = []
    for machine in silent[:height]:
        host = f" ▲ {machine.host}: "
        text = machine.trouble.removeprefix(f"{machine.host}: ")
        lines.append([(host, "bar_warning"), (fit(text, max(0, width - len(host))), "bar_text")])
    if len(silent) > height > 0:
        left = len(silent) - height + 1
        lines[-1] = [(fit(f" ▲ {left} more machines do not answer", width), "bar_warning")]
    return lines


class RunsSource(Protocol):
    """Where views of all runs come from; `RunsPoller` is the one that reads pages."""

    def poll(self) -> RunsView: ...


class RunsScreen(PollingScreen):
    """The list of runs; it rests while it is covered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter by words and values"),
        Binding("s", "sort", "sort by a column, metric or value; again: reversed"),
        Binding("w", "sweep", "the sweep of the selected run, or the newest"),
        Binding("e", "edit", "edit the run's note"),
        Binding("v", "group", "group runs by seeds, or by any value"),
        Binding("escape", "clear", "drop the filter, or else unmark all"),
    ]
    AUTO_FOCUS = "#runs"

    class ViewArrived(Message):
        """The poller looked at the runs."""

        def __init__(self, view: RunsView) -> None:
            super().__init__()
            self.view = view

    class GroupsOpened(Message):
        """Somebody wants to see `groups`, the first of them in front."""

        def __init__(self, groups: Sequence[WatchedGroup]) -> None:
            super().__init__()
            self.groups = tuple(groups)

    def __init__(
        self,
        source: RunsSource,
        run_source: Callable[[Run], RunSource],
        selected: Run | None = None,
    ) -> None:
        """`run_source` gives the views of the run that is selected."""
        super().__init__()
        self._run_source = run_source
        self._selected = selected
        self._view: RunsView | None = None
        self._filter = ListFilter()
        self._grouper = RunGrouper()
        self._groups: dict[GroupKey, RunGroup] = {}
        self._loop = PollLoop(
            poll=source.poll,
            deliver=lambda view: self.post_message(self.ViewArrived(view)),
            interval_s=_interval_s,
        )

    def compose(self) -> ComposeResult:
        yield Drawn("runs-head", _head)
        yield Drawn("machines", _silent_machines)
        yield RunsTable("runs", self._selected, notice_of)
        yield RunsTable("groups")
        yield RunPreview(self._run_source)
        yield FilterLine()
        yield ChoiceLine()
        yield KeyLine(_KEYS)

    def on_mount(self) -> None:
        runs = self._runs_table()
        runs.show_rows({}, (), empty=[[], [("   looking for runs", "dim")]])
        self.watch(runs, "selected", self._show_preview, init=False)

    def on_screen_suspend(self) -> None:
        self.query_one(RunPreview).show(None)

    def on_resize(self) -> None:
        self._show_preview()

    def on_runs_screen_view_arrived(self, message: ViewArrived) -> None:
        self._view = message.view
        self.show_runs()

    def show_runs(self) -> None:
        """The runs that the filter leaves, in the order people want."""
        if self._view is None:
            return
        line = self.query_one(FilterLine)
        found, error = self._filter.found(self._view.rows)
        line.complain(error)
        warning = error if error and not line.display else self._warning()
        by = self.session.grouped_by
        self._show_table()
        self._show_groups(found) if by else self._show_single(found)
        rows = self._filter.listed(self._view.rows)
        head, machines = (self.query_one(id, Drawn) for id in ("#runs-head", "#machines"))
        head.show(rows, len(found), self._filter.text, warning, by)
        silent = [machine for machine in self._view.machines if machine.trouble]
        machines.display = bool(silent)
        machines.styles.height = min(len(silent), _MOST_LINES)
        machines.show(silent)
        self._show_preview()

    def _show_preview(self) -> None:
        """Below a short list of single runs, the one that is selected, if it is of this machine."""
        table = self._runs_table()
        rests = self.app.screen is not self or self.session.grouped_by
        run = table.row.run if table.row and not rests else None
        run = None if isinstance(run, RunElsewhere) else run
        self.query_one(RunPreview).show(run, self.size.height - table.num_rows - _OTHER_ROWS)

    def _show_single(self, rows: Sequence[RunRow]) -> None:
        order, is_reversed = self.settings.order, self.settings.reversed_order
        hosts = [machine.host for machine in self._view.machines] if self._view else ()
        comparison = self.session.comparison
        reference = next((row for row in rows if row.run == comparison.reference), None)
        main = main_heading(main_metric(row.status.metrics) for row in rows if row.status)
        self._table().show_rows(
            {row.run: row for row in ordered(rows, order, is_reversed)},
            run_columns(order, hosts, main, reference),
            (order, is_reversed),
            marks_of(comparison),
            _NOTHING_FOUND if self._filter.text else _nothing_yet(hosts),
        )

    def _show_groups(self, rows: Sequence[RunRow]) -> None:
        order, is_reversed = self.settings.order, self.settings.reversed_order
        groups = self._grouper.groups(rows, self.session.grouped_by)
        metrics = [RETURN, shown_value(order)]
        groups = ordered(groups, order, is_reversed, lambda group: group.summary(metrics))
        self._groups = {group.key: group for group in groups}
        comparison, spread = self.session.group_comparison, self.settings.seeds_spread
        reference = self._groups.get(comparison.reference or ())
        main = main_heading(group.main for group in groups)
        self._table().show_rows(
            self._groups,
            group_columns(order, spread, main, reference),
            (order, is_reversed),
            marks_of(comparison),
            _NOTHING_FOUND,
        )

    def _table(self) -> RunsTable:
        """The list that is shown: of runs or of groups."""
        return self.query_one("#groups" if self.session.grouped_by else "#runs", RunsTable)

    def _runs_table(self) -> RunsTable:
        return self.query_one("#runs", RunsTable)

    def _show_table(self) -> RunsTable:
        """Show that list in place of the other, with the focus if the other had it."""
        shown = self._table()
        for table in self.query(RunsTable):
            if table is not shown and table.display:
                had_focus = table.has_focus
                table.display, shown.display = False, True
                if had_focus:
                    shown.focus()
        return shown

    def on_filter_line_changed(self, message: FilterLine.Changed) -> None:
        """What is not understood stays open, to be mended or dropped."""
        self._filter.text = message.text.strip()
        is_wrong = self._view is not None and bool(self._filter.found(self._view.rows)[1])
        if message.is_done and not is_wrong:
            self.query_one(FilterLine).close()
            self._table().focus()
        self.show_runs()

    def on_runs_table_marked(self, message: RunsTable.Marked) -> None:
        session, key, is_reference = self.session, message.key, message.is_reference
        if session.grouped_by:
            session.group_comparison = session.group_comparison.with_toggled(key, is_reference)
        else:
            session.comparison = session.comparison.with_toggled(key, is_reference)
        self.show_runs()

    def on_list_table_ordered(self, message: ListTable.Ordered) -> None:
        self.sort_by(message.order)

    def on_list_table_opened(self, message: ListTable.Opened) -> None:
        if self.session.grouped_by:
            self._open_groups(message.key)
        else:
            self.post_message(self.RunOpened(message.key))

    def _ask(self, purpose: str, choices: Sequence[Choice]) -> None:
        if self.query_one(FilterLine).display:
            self.query_one(FilterLine).close()
        self.query_one(ChoiceLine).open(purpose, choices)

    def on_choice_line_chosen(self, message: ChoiceLine.Chosen) -> None:
        if message.value is not None and message.purpose == _SORT:
            self.sort_by(message.value)
        elif message.value is not None:
            self.session.grouped_by = message.value
            self.show_runs()
        self._table().focus()

    def _open_groups(self, key: GroupKey) -> None:
        """Show a group with those that are marked, as long as they are there."""
        comparison = self.session.group_comparison
        keys = [key, *(k for k in comparison.beside(key) if k in self._groups)]
        groups, is_alone = [self._groups[key] for key in keys], len(keys) == 1
        self.session.group_looks = looks = assigned_looks(
            [group.label for group in groups], self.session.group_looks
        )
        watched = [
            WatchedGroup(
                f"{group.label} · {group.count_words}",
                group.runs,
                None if is_alone else looks[group.label],
                not is_alone and group.key == comparison.reference,
            )
            for group in groups
        ]
        self.post_message(self.GroupsOpened(watched))

    def sort_by(self, order: str) -> None:
        """By a column; the other way round when it is the one already."""
        is_again = order == self.settings.order
        self.change_settings(
            order=order, reversed_order=is_again and not self.settings.reversed_order
        )
        self.show_runs()

    def action_sweep(self) -> None:
        row = self._runs_table().row
        self.app.push_screen(SweepScreen(str(row.config.get("sweep", "")) if row else ""))

    def action_filter(self) -> None:
        self.query_one(FilterLine).open(self._filter.text)

    def action_edit(self) -> None:
        if self.session.grouped_by:
            self.notify("notes are of single runs: v enter", timeout=3)
            return
        if row := self._runs_table().row:
            self.post_message(self.NotesWanted(row.run, row.notes))

    def action_sort(self) -> None:
        """Ask by what; the column after the one it is has the `enter`."""
        if self._view:
            known = known_names(self._view.rows)
            self._ask(_SORT, order_choices(known, self.settings.order))

    def action_group(self) -> None:
        """Ask by what; single runs again has the `enter` where they are grouped."""
        if self._view:
            self._ask(_GROUP, group_choices(self._view.rows, self.session.grouped_by))
            self._grouper.groups(self._view.rows, NAME)  # what most choose, and takes longest

    def action_clear(self) -> None:
        if self._filter.text:
            self._filter.text = ""
        else:
            self.session.comparison = Comparison()
            self.session.group_comparison = Comparison()
        self.query_one(FilterLine).close()
        self.show_runs()

    def _warning(self) -> str:
        count = len(self.session.comparison.chosen)
        too_many = f"{count} runs are chosen, {MAX_RUNS} at most are drawn together"
        return self.session.warning or (too_many if count > MAX_RUNS else "")


def _interval_s(view: RunsView) -> float:
    if view.is_complete:
        return POLL_EVERY_S if view.has_returns else _RETURNS_SOON_S
    return _SOON_S


def _nothing_yet(hosts: Sequence[str]) -> list[Line]:
    """The lines of a list without runs: what to do."""
    if hosts:
        return [[], [(f"   No runs are known yet of {', '.join(hosts)}.", "strong")]]
    return [
        [],
        [("   There are no runs yet.", "strong")],
        [],
        [("   Start one:       ", "dim"), ("operant train", "text")],
        [("   Any other loop:  ", "dim"), ("operant capture -- python train.py", "text")],
        [("   It shows here as soon as it starts.", "dim")],
        [],
        [(f"   Runs are kept in {runs_folder()}", "dim")],
    ]
