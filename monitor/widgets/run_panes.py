"""The panes of a run's screen: the charts, and below them what else is known of the run."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import var
from textual.widget import Widget

from ...shared import Event
from ..charts.shown_run import Watched
from ..panels.event_lines import with_alerts
from ..panels.hints import Hint
from ..panels.pane_layout import PANES, shown_panes, toggled
from ..runs.machine.machine import MachineSample
from ..runs.reading.alerts import Alert
from .chart_grid import ChartGrid
from .config_panel import ConfigPanel
from .console_panel import ConsolePanel
from .events_panel import EventsPanel
from .machine_panel import MachinePanel
from .media_panel import MediaPanel
from .pane import Pane
from .scrolling_pane import ScrollingPane
from .time_panel import TimePanel


class RunPanes(Vertical):
    """Shows as many of the `wanted` panes, latest choice first, as have room and something to say;
    an enlarged pane stands alone.
    """

    wanted: var[tuple[str, ...]] = var(PANES, init=False)
    _has_shown = False
    _cursor: float | None = None  # of the charts, as the console knows it

    def compose(self) -> ComposeResult:
        yield ChartGrid()
        with Horizontal(id="bottom"):
            yield TimePanel()
            yield EventsPanel()
            yield MachinePanel()
            yield ConsolePanel()
            yield ConfigPanel()
            yield MediaPanel()

    @property
    def grid(self) -> ChartGrid:
        return self.query_one(ChartGrid)

    @property
    def is_reading(self) -> bool:
        """Whether a pane will show more than it does, once it has read a file."""
        return self.query_one(MediaPanel).is_reading

    def show(
        self,
        watched: Sequence[Watched],
        events: Sequence[Event],
        alerts: Sequence[Alert],
        hint: Hint | None,
    ) -> None:
        """Draw the runs, the one that the screen is about first; `hint` is what its next run could
        do better.
        """
        view, empty = watched[0].view, self._empty()
        self._has_shown = True
        self.grid.show(watched, alerts)
        self.query_one(EventsPanel).show(with_alerts(events, alerts))
        self.query_one(ConsolePanel).show(view.console)
        self.query_one(ConfigPanel).show(watched)
        self.query_one(TimePanel).show(view, hint)
        self.query_one(MediaPanel).show(view)
        if self._empty() != empty:
            self.place()

    def show_machine(self, sample: MachineSample | None) -> None:
        empty = self._empty()
        self.query_one(MachinePanel).show(sample)
        if self._empty() != empty:
            self.place()

    def place(self) -> None:
        """Show the panes that people want, where they have room."""
        panes = list(self.query(Pane))
        enlarged = tuple(str(pane.id) for pane in panes if pane.is_enlarged)
        shown = enlarged or shown_panes(self.wanted, self._empty(), *self.app.size)
        for pane in panes:
            if pane.display != (pane.id in shown):
                pane.display = pane.id in shown
        self.query_one("#bottom").display = shown != ("charts",)
        self.set_class("charts" not in shown, "-no-charts")
        if self.screen.focused in panes and not self.screen.focused.display:
            next(pane for pane in panes if pane.display).focus()

    def choose(self, name: str) -> str:
        """Show a pane and give it the focus; hide it where it has the focus. Returns why it cannot
        be done; nothing where it is done.
        """
        pane = self.query_one(f"#{name}", Pane)
        hides = pane.has_focus and pane.display
        self.make_small()
        self.wanted = toggled(self.wanted, name, hides)
        self.place()
        if pane.display == hides:
            return self._why_unchanged(name)
        if not hides:
            pane.focus()
        return ""

    def read_events(self) -> None:
        """Enlarge what happened."""
        events = self.query_one(EventsPanel)
        events.is_enlarged = True
        self.place()
        events.focus()

    def make_small(self) -> bool:
        """Enlarge no pane; returns whether one was."""
        enlarged = [pane for pane in self.query(Pane) if pane.is_enlarged]
        for pane in enlarged:
            pane.is_enlarged = False
        return bool(enlarged)

    def searched(self, focused: Widget | None) -> ScrollingPane | ChartGrid:
        """The widget to search: the focused pane, or the charts if it has no text to search."""
        return focused if isinstance(focused, ScrollingPane) else self.grid

    def drop_words(self) -> bool:
        """End the search in every pane; returns whether there was any."""
        panes = [self.grid, *self.query(ScrollingPane)]
        searched = [pane for pane in panes if pane.words]
        for pane in searched:
            pane.words = ()
        return bool(searched)

    def watch_wanted(self) -> None:
        self.place()

    def on_pane_enlarged(self) -> None:
        self.place()

    def on_resize(self) -> None:
        self.place()

    def on_events_panel_chosen(self, message: EventsPanel.Chosen) -> None:
        self.grid.go_to(message.event)
        if not self.query_one(EventsPanel).is_enlarged:
            self.grid.focus()  # where its cursor is, the keys of the charts are wanted

    def on_console_panel_chosen(self, message: ConsolePanel.Chosen) -> None:
        self.grid.go_to(message.event)
        self._cursor = self.grid.options.cursor

    def on_chart_grid_options_changed(self, message: ChartGrid.OptionsChanged) -> None:
        """The console goes where the cursor of the charts went."""
        if message.options.cursor != self._cursor:
            self._cursor = message.options.cursor
            self.query_one(ConsolePanel).go_to(self.grid.board.wall_ns_at_cursor())

    def _why_unchanged(self, name: str) -> str:
        if self.query_one(f"#{name}").display:
            return "one pane always stays"
        if name in self._empty():
            return f"{name}: nothing to show"
        return f"{name}: no room below the charts"

    def _empty(self) -> list[str]:
        """The panes that have nothing to say."""
        has_something = {
            "charts": bool(self.grid.board.metrics or self.grid.words)
            or not self.query_one(ConsolePanel).has_lines,
            "machine": self.query_one(MachinePanel).has_samples,
            "time": self.query_one(TimePanel).has_phases or not self._has_shown,
            "media": self.query_one(MediaPanel).has_files,
        }
        return [name for name, has in has_something.items() if not has]
