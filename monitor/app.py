"""The monitor: run `watch` to look at a run, or at the list of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import Theme

from ..shared.run_folder import Run
from .keys import Section
from .palette import DARK
from .run_poller import RunPoller
from .runs_poller import RunsPoller
from .screens.help_screen import HelpScreen
from .screens.run_screen import RunScreen, RunSource
from .screens.runs_screen import RunsScreen, RunsSource
from .widgets.chart_grid import ChartGrid
from .widgets.drawing import Drawing
from .widgets.events_panel import EventsPanel
from .widgets.runs_table import RunsTable
from .widgets.time_panel import TimePanel

_THEME = Theme(
    name="operant",
    primary=DARK.focus,
    background=DARK.background,
    surface=DARK.background,
    foreground=DARK.text,
    dark=True,
    variables={"bar": DARK.bar},
)


def watch(run: Run | None, source: RunSource | None = None) -> None:
    """Show `run`, or the list of runs, until somebody quits. Nothing of it reaches the trainer.

    `source` gives the views of `run` where it is on another machine.
    """

    def run_source(wanted: Run) -> RunSource:
        return source if source and wanted == source.run else RunPoller(wanted)

    MonitorApp(run, run_source=run_source).run()


class MonitorApp(App[None], inherit_bindings=False):
    """The list of runs, and the screen of the one that is open."""

    TITLE = "operant"
    CSS_PATH = "monitor.tcss"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", "quit; the run goes on"),
        Binding("question_mark,f1", "help", "this help"),
    ]

    def __init__(
        self,
        run: Run | None = None,
        *,
        run_source: Callable[[Run], RunSource] = RunPoller,
        runs_source: RunsSource | None = None,
    ) -> None:
        """Open `run`, or the list of runs; views come from `run_source` and `runs_source`."""
        super().__init__()
        self._first_run = run
        self._run_source = run_source
        self._runs_source = runs_source or RunsPoller()
        self.register_theme(_THEME)
        self.theme = _THEME.name

    def on_mount(self) -> None:
        if self._first_run:
            self.push_screen(RunScreen(self._run_source(self._first_run)))
        else:
            self.push_screen(RunsScreen(self._runs_source))

    def on_runs_table_opened(self, message: RunsTable.Opened) -> None:
        self.push_screen(RunScreen(self._run_source(message.run)))

    def on_run_screen_closed(self, message: RunScreen.Closed) -> None:
        if isinstance(self.screen_stack[-2], RunsScreen):
            self.pop_screen()
        else:
            self.switch_screen(RunsScreen(self._runs_source, message.run))

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.help_sections()))

    def help_sections(self) -> list[Section]:
        """The bindings that hold on the present screen, by where they hold."""
        sections: list[Section] = [("everywhere", [*self.BINDINGS, *self.screen.BINDINGS])]
        panes: tuple[type[Drawing], ...] = (ChartGrid, TimePanel, EventsPanel, RunsTable)
        for pane in panes:
            for widget in self.screen.query(pane):
                sections.append((str(widget.id), _bindings_of(pane)))
        return sections


def _bindings_of(pane: type[Drawing]) -> list[BindingType]:
    """Those of `pane` itself and of what it is made from."""
    kinds = [kind for kind in pane.__mro__ if issubclass(kind, Drawing)]
    return [binding for kind in kinds for binding in vars(kind).get("BINDINGS", ())]
