"""The keys that put charts in their place: groups, pins, what is hidden, how many in a row."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import var

from ..charts.arrangement import Arrangement
from ..charts.board import ChartBoard
from ..charts.grid_layout import GridLayout, grid_layout
from ..charts.options import ChartOptions
from ..charts.sections import ALL, HIDDEN, Section, group_of, section_at
from .pane import Pane

_HUGE = 1 << 30
_NOTICE_S = 2


class Arranging(Pane):
    """A pane of charts that stand as people want them. `selected` is a place of the board."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "jump(-1)", "select the group before, after"),
        Binding("right_square_bracket", "jump(1)", "select the group before, after"),
        Binding("c", "collapse", "collapse the group, open it (click)"),
        Binding("P", "pin", "pin the chart to the front, or not"),
        Binding("H", "hide", "hide the chart, or show it again"),
        Binding("m", "columns", "more charts in a row, and one after the most"),
    ]

    selected: var[int] = var(0, init=False)
    options: var[ChartOptions] = var(ChartOptions(), init=False)

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.board = ChartBoard()
        self._top = 0  # the first of the layout's bands in view

    def action_jump(self, groups: int) -> None:
        """The first chart of another group, its heading above all; back means the start of this
        group first.
        """
        starts = [section.start for section in self.board.sections]
        later = [start for start in starts if start > self.selected]
        before = [start for start in starts if start < self.selected]
        target = later[:1] if groups > 0 else before[-1:]
        if target:
            self._top = _HUGE
            self.selected = target[0]

    def action_collapse(self) -> None:
        """The selected chart's group is its heading alone, or open again."""
        section = self.selected_section
        if section is None:
            return
        is_ungrouped = section.key == ALL
        name = self.board.metrics[self.selected].name
        self.toggle_section(group_of(name) if is_ungrouped else section.key)

    def toggle_section(self, key: str) -> None:
        arrangement = self.options.arrangement
        if key == HIDDEN:
            self._arrange(replace(arrangement, shows_hidden=not arrangement.shows_hidden))
        elif self.options.words:
            self._say("the filter keeps all groups open")
        else:
            self._arrange(arrangement.with_collapse_toggled(key))

    def action_pin(self) -> None:
        name = self.selected_chart
        if name:
            arrangement = self.options.arrangement.with_pin_toggled(name)
            self._arrange_and_go_on(arrangement)
            is_pinned = name in arrangement.pinned
            self._say(f"{'pinned to the front' if is_pinned else 'no longer pinned'}: {name}")

    def action_hide(self) -> None:
        name = self.selected_chart
        if name:
            arrangement = self.options.arrangement.with_hiding_toggled(name)
            self._arrange_and_go_on(arrangement)
            is_hidden = name in arrangement.hidden
            self._say(f"hidden: {name}; 0 shows all" if is_hidden else f"shown again: {name}")

    def action_columns(self) -> None:
        arrangement, shown = self.options.arrangement, self.layout_of_charts().columns
        self._arrange(replace(arrangement, columns=shown + 1))
        if self.layout_of_charts().columns == shown:
            self._arrange(replace(arrangement, columns=1))

    @property
    def selected_section(self) -> Section | None:
        return section_at(self.board.sections, self.selected)

    @property
    def selected_chart(self) -> str:
        """The metric of the chart that is selected; empty where it is a heading."""
        section = self.selected_section
        return self.board.metrics[self.selected].name if section and section.is_open else ""

    def layout_of_charts(self) -> GridLayout:
        """The grid's, whether or not a chart is enlarged over it."""
        columns = self.options.arrangement.columns
        return grid_layout(self.board.sections, self.size, self.selected, self._top, columns)

    def select_again(self, name: str) -> None:
        """The chart of metric `name`, or the heading it is under; else what stands at its place."""
        places = [metric.name for metric in self.board.metrics]
        if name in places:
            self.selected = places.index(name)
            return
        closed = {one.key: one.start for one in self.board.sections if not one.is_open}
        group = group_of(name)
        self.selected = closed.get(group, min(self.selected, max(0, len(places) - 1)))

    def _arrange(self, arrangement: Arrangement) -> None:
        self.options = replace(self.options, arrangement=arrangement)

    def _arrange_and_go_on(self, arrangement: Arrangement) -> None:
        """The chart goes to another place, and the one after it is selected."""
        places, at = self.board.metrics, self.selected
        after = places[at + 1 if at + 1 < len(places) else max(0, at - 1)].name
        self._arrange(arrangement)
        self.select_again(after)

    def _say(self, words: str) -> None:
        self.app.notify(words, timeout=_NOTICE_S, markup=False)
