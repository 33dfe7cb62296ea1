"""The list of groups of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from ..charts.charted_metrics import RETURN, main_heading
from ..render.formatting import UNKNOWN, format_count, format_relative, format_value
from ..render.lines import Line, fit, fit_end, fit_line, line_width
from ..render.sparks import sparkline
from ..runs.list.comparison import Comparison
from ..runs.list.group_statistics import SPREAD_WORDS, Spread, interval_text
from ..runs.list.run_groups import GroupKey, RunGroup
from ..runs.list.run_order import METRIC, shown_value, value_text
from ..runs.list.run_returns import NUM_RETURNS
from .row_list import RowList
from .runs_table import RunsTable, nothing_found

_RUNS_WIDTH, _NUMBER_WIDTH, _SPREAD_WIDTH, _STEPS_WIDTH = 5, 8, 16, 13
_MIN_SPARK_WIDTH, _MAX_SPARK_WIDTH = 8, 16
_SHORT_LABEL_WIDTH, _LABEL_WIDTH, _MAX_LABEL_WIDTH = 14, 30, 90
_STATES_WIDTH, _WIDE_STATES_WIDTH, _WIDE = 9, 13, 100


@dataclass(frozen=True)
class Columns:
    """Widths in cells, each with the blank before the column; 0 for a hidden column."""

    states: int
    label: int
    value: int
    relative: int
    steps: int
    spark: int


def columns_of(width: int, order: str = "newest", has_reference: bool = False) -> Columns:
    states = _WIDE_STATES_WIDTH if width >= _WIDE else _STATES_WIDTH
    room = width - 3 - states - (_RUNS_WIDTH + _NUMBER_WIDTH + _SPREAD_WIDTH + 3)
    value = 1 + _NUMBER_WIDTH if shown_value(order) else 0
    value = value if room >= _SHORT_LABEL_WIDTH + value else 0
    room -= value
    relative = 1 + _NUMBER_WIDTH
    relative = relative if has_reference and room >= _SHORT_LABEL_WIDTH + relative else 0
    room -= relative
    steps = 1 + _STEPS_WIDTH if room >= _LABEL_WIDTH + 1 + _STEPS_WIDTH else 0
    room -= steps
    spark = min(_MAX_SPARK_WIDTH, room - _LABEL_WIDTH - 1)
    spark = 1 + spark if spark >= _MIN_SPARK_WIDTH else 0
    label = max(4, min(room - spark, _MAX_LABEL_WIDTH))
    return Columns(states, label, value, relative, steps, spark)


def draw_group_head(
    width: int,
    order: str = "newest",
    is_reversed: bool = False,
    spread: Spread = "quartiles",
    main: str = "return",
    has_reference: bool = False,
) -> Line:
    """The heading; `main` is the `main_heading` of the groups."""
    line: Line = []
    for name, cells, align in _heads(width, order, has_reference):
        is_order = name == order
        mark = ("↑" if is_reversed else "↓") if is_order else ""
        shown = {"spread": SPREAD_WORDS[spread], "return": main}.get(name)
        shown = shown or shown_value(name) or name
        text = fit_end(shown, cells - len(mark)) + mark
        line.append((fit(text, cells, align), "focus" if is_order else "dim"))
        line.append((" ", "dim"))
    return fit_line(line, width, "dim")


def order_under_group(
    width: int, column: int, order: str = "newest", has_reference: bool = False
) -> str | None:
    """The order of the column at a cell of the heading; None if no order belongs to it."""
    start = 0
    orders = {"   state": "state", "steps": "steps"}
    orders |= dict.fromkeys(("return", "vs ref", "curve"), "return")
    for name, cells, _ in _heads(width, order, has_reference):
        if start <= column < start + cells + 1:
            return name if name == order else orders.get(name)
        start += cells + 1
    return None


def draw_group(
    group: RunGroup,
    width: int,
    is_selected: bool,
    mark: str = " ",
    order: str = "newest",
    spread: Spread = "quartiles",
    reference: RunGroup | None = None,
) -> Line:
    """One group: its states, label and number of runs (`2/3` where one of three has no value), and
    the newest return of all its runs, or of their main metric, whose name then follows the label.
    """
    prefix = "cursor_" if is_selected else ""
    columns = columns_of(width, order, reference is not None)
    returns = group.metric(group.main, spread)
    num_runs = str(len(group.rows))
    if returns and returns.num_runs < len(group.rows):
        num_runs = f"{returns.num_runs}/{num_runs}"
    label = fit_end(group.label, columns.label)
    main = "" if group.main == RETURN else f" {group.main}"
    main = main if cell_len(label + main) <= columns.label else ""
    line: Line = [
        ("▌" if is_selected else " ", f"{prefix}focus"),
        (f"{mark} ", f"{prefix}focus"),
        *_states(group, columns.states - 1, prefix),
        (" " + fit(label, columns.label - cell_len(main)),
         f"{prefix}{'strong' if is_selected else 'text'}"),
        *([(main, f"{prefix}dim")] if main else []),
        (" " + fit(num_runs, _RUNS_WIDTH, ">"), f"{prefix}text"),
    ]  # fmt: skip
    if columns.value:
        line.append((" " + fit(_value(group, order), _NUMBER_WIDTH, ">"), f"{prefix}strong"))
    middle = format_value(returns.value) if returns else UNKNOWN
    interval = interval_text(returns, spread) if returns else ""
    line.append((" " + fit(middle, _NUMBER_WIDTH, ">"), f"{prefix}text"))
    line.append((" " + fit(interval, _SPREAD_WIDTH), f"{prefix}dim"))
    if reference and columns.relative:
        other = reference.metric(group.main, spread)
        relative = format_relative(returns and returns.value, other and other.value)
        relative = "ref" if group.key == reference.key else relative
        line.append((" " + fit(relative, _NUMBER_WIDTH, ">"), f"{prefix}text"))
    if columns.spark:
        line.append((" " + sparkline(_mean_curve(group), columns.spark - 1), f"{prefix}good"))
    if columns.steps:
        line.append((" " + fit(steps_words(group), _STEPS_WIDTH, ">"), f"{prefix}text"))
    return fit_line(line, width, f"{prefix}text")


def steps_words(group: RunGroup) -> str:
    """The smallest and the largest number of env steps among the group's runs."""
    statuses = [row.status for row in group.rows if row.status]
    steps = [status.env_steps for status in statuses if status.env_steps is not None]
    if not steps:
        return UNKNOWN
    ends = dict.fromkeys(format_count(count) for count in (min(steps), max(steps)))
    return " to ".join(ends)


def draw_states(group: RunGroup, prefix: str = "") -> Line:
    """The number of runs in each state, such as `✗1 ●2 ✓3`."""
    return [(f"{symbol}{count} ", f"{prefix}{style}") for symbol, style, count in group.states()]


def _states(group: RunGroup, width: int, prefix: str) -> Line:
    line: Line = []
    for piece in draw_states(group, prefix):
        if line_width(line) + len(piece[0]) - 1 <= width:
            line.append(piece)
    return fit_line(line, width, f"{prefix}text")


def _value(group: RunGroup, order: str) -> str:
    """The value that sorts the list: the mean of a metric, or a value that all runs share."""
    return value_text(group.summary([shown_value(order)]) if order.startswith(METRIC)
                      else group.summary(()), order)  # fmt: skip


def _mean_curve(group: RunGroup) -> list[float]:
    """The mean of the runs' curves, each from its own start to its own end."""
    curves = [row.returns for row in group.rows if len(row.returns) == NUM_RETURNS]
    return (np.array(curves) / len(curves)).sum(axis=0).tolist() if curves else []


def _heads(width: int, order: str, has_reference: bool) -> list[tuple[str, int, str]]:
    columns = columns_of(width, order, has_reference)
    heads = [
        ("   state", 3 + columns.states - 1 + 1, "<"),
        ("group", columns.label + 1, "<"),
        ("runs", 1 + _RUNS_WIDTH, ">"),
        (order, columns.value, ">"),
        ("return", 1 + _NUMBER_WIDTH, ">"),
        ("spread", 1 + _SPREAD_WIDTH, "<"),
        ("vs ref", columns.relative, ">"),
        ("curve", columns.spark, "<"),
        ("steps", columns.steps, ">"),
    ]
    return [(name, cells - 1, align) for name, cells, align in heads if cells]


class GroupsTable(RowList):
    """A row for each group; in the place of the list of runs while they are grouped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "select a group"),
        Binding("down", "move(1)", "select a group"),
        Binding("pageup", "move_pages(-1)", "a page up or down"),
        Binding("pagedown", "move_pages(1)", "a page up or down"),
        Binding("home", "move(-100000)", "the first, the last group"),
        Binding("end", "move(100000)", "the first, the last group"),
        Binding("enter", "open", "open it, with those marked: mean and spread"),
        Binding("space", "mark(False)", "mark: draw its mean beside that of others"),
        Binding("p", "mark(True)", "pin as the reference to compare with"),
    ]

    class Opened(Message):
        """Somebody wants to see the group of `key`."""

        def __init__(self, key: GroupKey) -> None:
            super().__init__()
            self.key = key

    class Marked(Message):
        """Somebody wants the group on the charts of others, as the reference or no longer."""

        def __init__(self, key: GroupKey, is_reference: bool) -> None:
            super().__init__()
            self.key, self.is_reference = key, is_reference

    def __init__(self) -> None:
        super().__init__("groups")
        self._groups: tuple[RunGroup, ...] = ()
        self._comparison = Comparison[GroupKey]()
        self._reference: RunGroup | None = None
        self._order = ("newest", False)
        self._spread: Spread = "quartiles"
        self._main = "return"

    def show(
        self,
        groups: Sequence[RunGroup],
        comparison: Comparison[GroupKey],
        order: tuple[str, bool],
        spread: Spread,
    ) -> None:
        """Draw `groups`, which are in `order`: a column, and whether the other way round."""
        self._groups, self._comparison = tuple(groups), comparison
        self._reference = next((one for one in groups if one.key == comparison.reference), None)
        self._order, self._spread = order, spread
        self._main = main_heading(group.main for group in groups)
        self.show_keys([group.key for group in groups])

    def draw(self, width: int, height: int) -> list[Line]:
        return self.draw_rows(width, height) if self._groups else nothing_found()

    def draw_row_at(self, place: int, width: int, is_selected: bool) -> Line:
        group = self._groups[place]
        mark = "+" if group.key in self._comparison.marked else " "
        mark = "◆" if group.key == self._comparison.reference else mark
        order, reference = self._order[0], self._reference
        return draw_group(group, width, is_selected, mark, order, self._spread, reference)

    def draw_head_row(self, width: int) -> Line:
        has_reference = self._reference is not None
        return draw_group_head(width, *self._order, self._spread, self._main, has_reference)

    def action_open(self) -> None:
        if isinstance(self.selected, tuple):
            self.post_message(self.Opened(self.selected))

    def action_mark(self, is_reference: bool) -> None:
        if isinstance(self.selected, tuple):
            self.post_message(self.Marked(self.selected, is_reference))

    def click_head(self, column: int) -> None:
        has_reference = self._reference is not None
        order = order_under_group(self.size.width - 1, column, self._order[0], has_reference)
        if order:
            self.post_message(RunsTable.Ordered(order))
