"""The monitor: run `watch` to look at a run, or at the list of all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme

from ..shared.errors import OperantError
from ..shared.page.requests import give_reason, send_request
from ..shared.runs.run_elsewhere import RunElsewhere
from ..shared.runs.run_folder import Run
from .charts.shown_run import assigned_looks
from .render.ascii import needs_ascii
from .render.palette import THEMES, Palette
from .runs.list.comparison import MAX_RUNS, Comparison
from .runs.list.group_source import MEMBER_ROWS
from .runs.list.runs_poller import RunsPoller
from .runs.reading.run_poller import RunPoller
from .runs.reading.run_source import Companion, RunSource
from .screens.dialog import Dialog, NoteDialog, why_not
from .screens.group_screen import GroupScreen
from .screens.help_screen import HelpScreen
from .screens.monitor_screen import MonitorScreen
from .screens.run_screen import RunScreen
from .screens.runs_screen import RunsScreen, RunsSource
from .screens.sweep_screen import SweepScreen
from .session.browser import STREAMS, is_in_a_browser
from .session.hang_up import leaving_in_good_order
from .session.key_order import KeysInOrder
from .session.keys import Section, key_name
from .session.memory import keep_memory_flat
from .session.session import Session
from .session.settings import REFRESH_S, Settings, settings_path
from .session.terminal_driver import TerminalDriver
from .widgets.drawing import Drawing
from .widgets.list_table import ListTable
from .widgets.pane import Pane
from .widgets.time_slider import TimeSlider

if TYPE_CHECKING:  # loaded once a monitor watches another machine: not before the first frame
    from .remote.remote_list import Machines

# Actions that move about, which nobody looks for in the palette, and the palette itself.
_MOVES = {
    "app.focus_next", "app.focus_previous", "command_palette", "cursor", "help", "jump", "move",
    "move_pages", "scroll", "select", "step", "turn",
}  # fmt: skip
_QUESTIONS = {
    "stop": "Stop {run}? It finishes its iteration and saves a checkpoint, from which --resume "
    "goes on.",
    "checkpoint": "Have {run} save a checkpoint after this iteration?",
    "trace": "Have {run} trace an iteration, into its folder traces/?",
}


class MonitorApp(KeysInOrder, inherit_bindings=False):
    """The list of runs, and the screen of the one that is open."""

    TITLE = "operant"
    CSS_PATH = "monitor.tcss"
    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", "quit; the run goes on"),
        Binding("question_mark,f1", "help", "this help"),
        Binding("ctrl+p", "command_palette", "all actions, by name"),
        Binding("ctrl+z", "suspend_process", "back to the shell; `fg` returns"),
        Binding(
            "plus,equals_sign",
            "refresh_rate(-1)",
            "look more, less often",
            tooltip="look more often",
        ),
        Binding("minus", "refresh_rate(1)", "look more, less often", tooltip="look less often"),
        Binding("t", "next_theme", "the next theme"),
        Binding("b", "toggle_bell", "ring the bell at alerts, or not"),
    ]

    def __init__(
        self,
        run: Run | None = None,
        *,
        run_source: Callable[[Run], RunSource] = RunPoller,
        runs_source: RunsSource | None = None,
        member_source: Callable[[Run], RunSource] | None = None,
        settings: Settings | None = None,
        settings_path: Path | None = None,
        theme: str | None = None,
        is_ascii: bool = False,
        is_readonly: bool = False,
    ) -> None:
        """Open `run`, or the list of runs; views come from `run_source` and `runs_source`, those of
        the runs of a group from `member_source`. The rest is what a `Session` takes.
        """
        keep_memory_flat()
        self.session = Session(settings_path, settings, theme, is_ascii)
        # Textual takes NO_COLOR from the environment here, and leaves out all colours then.
        super().__init__(ansi_color=True if self.session.is_plain else None)
        self._first_run = run
        self._run_source = run_source
        self._member_source = member_source or run_source
        self._runs_source = runs_source or RunsPoller()
        self.is_readonly = is_readonly
        for name, palette in THEMES.items():
            self.register_theme(_theme(name, palette))
        self.theme = _theme_name(self.session.palette_name)

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        return TerminalDriver if usual is LinuxDriver else usual

    def on_mount(self) -> None:
        if self._first_run:
            self.push_screen(self._run_screen(self._first_run))
        else:
            self.push_screen(RunsScreen(self._runs_source, self._member_source))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Everything that a key does but moving about, once where several places have it, and the
        themes.
        """
        known = set()
        for title, bindings in self.help_sections(screen):
            for binding in bindings:
                assert isinstance(binding, Binding)
                action, name = binding.action, binding.tooltip or binding.description
                if action.partition("(")[0] in _MOVES or (action, name) in known:
                    continue
                known.add((action, name))
                yield SystemCommand(
                    name,
                    f"{title}, key {key_name(binding.key)}",
                    lambda action=action: self.run_worker(self._act(action)),
                )
        for name in THEMES:
            yield SystemCommand(f"theme: {name}", "colours", lambda name=name: self._wear(name))

    def on_monitor_screen_run_opened(self, message: MonitorScreen.RunOpened) -> None:
        self.push_screen(self._run_screen(message.run, message.others))

    def on_runs_screen_groups_opened(self, message: RunsScreen.GroupsOpened) -> None:
        self.push_screen(GroupScreen(message.groups, self._member_source))

    def on_run_screen_closed(self, message: RunScreen.Closed) -> None:
        if isinstance(self.screen_stack[-2], RunsScreen | SweepScreen):
            self.pop_screen()
        else:
            self.switch_screen(RunsScreen(self._runs_source, self._member_source, message.run))

    def on_run_screen_asked(self, message: RunScreen.Asked) -> None:
        """Ask again before a trainer is sent anything; with `--readonly` it is sent nothing."""
        if self.is_readonly:
            return
        if isinstance(message.run, RunElsewhere):
            host = message.run.host
            self.notify(f"its trainer can be asked on {host} alone", timeout=3, markup=False)
            return

        def answered(is_yes: bool | None) -> None:
            if is_yes:
                self._send(message.run, message.request)

        question = _QUESTIONS[message.request].format(run=message.run.id)
        self.push_screen(Dialog(question), answered)

    def on_monitor_screen_notes_wanted(self, message: MonitorScreen.NotesWanted) -> None:
        """Notes are people's own: the trainer never hears of them."""
        if reason := why_not(message.run, self.is_readonly):
            self.notify(reason, severity="warning", markup=False)
        else:
            self.push_screen(NoteDialog(message.run, message.notes))

    def on_run_screen_alarmed(self) -> None:
        if self.session.settings.bell:
            self.bell()

    def leave(self, exit_code: int) -> None:
        """Called in another thread: exit, once the application runs."""
        while not self.is_running:
            time.sleep(0.01)
        self.call_from_thread(self.exit, return_code=exit_code)

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.help_sections(self.screen)))

    def action_refresh_rate(self, steps: int) -> None:
        """The next interval between two looks."""
        nearest = min(REFRESH_S, key=lambda s: abs(s - self.session.settings.refresh_s))
        place = min(max(REFRESH_S.index(nearest) + steps, 0), len(REFRESH_S) - 1)
        self.session.change_settings(refresh_s=REFRESH_S[place])
        self.notify(f"looks every {REFRESH_S[place]:g} s", timeout=2)

    def action_next_theme(self) -> None:
        names = list(THEMES)
        self._wear(names[(names.index(self.session.palette_name) + 1) % len(names)])

    def action_toggle_bell(self) -> None:
        self.session.change_settings(bell=not self.session.settings.bell)
        self.notify("alerts ring the bell" if self.session.settings.bell else "no bell", timeout=2)

    def help_sections(self, screen: Screen[Any]) -> list[Section]:
        """The bindings that hold on a screen, by where they hold."""
        own = [b for b in screen.BINDINGS if self._is_allowed(b)]
        sections: list[Section] = [("everywhere", [*self.BINDINGS, *own])]
        for widget in screen.query(Drawing):
            if isinstance(widget, Pane | ListTable | TimeSlider):
                sections.append((str(widget.id), _bindings_of(type(widget))))
        return sections

    def _is_allowed(self, binding: BindingType) -> bool:
        assert isinstance(binding, Binding)
        return not (self.is_readonly and binding.action.startswith("ask("))

    async def _act(self, action: str) -> None:
        """Run an action where the keys go now, as its key would."""
        for node in (self.focused, self.screen, self):
            if node is not None and await self.run_action(action, node):
                return

    def _wear(self, name: str) -> None:
        if self.no_color:
            return
        self.session.theme = None
        self.session.change_settings(theme=name)
        self.theme = _theme_name(self.session.palette_name)
        for screen in self.screen_stack:
            for widget in screen.query(Drawing):
                widget.refresh()

    def _send(self, run: Run, request: Any) -> None:
        if request == "stop":
            give_reason(run, "from the monitor")
        try:
            send_request(run, request)
        except OperantError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self.notify(f"asked {run.id}: {request}", markup=False)

    def _run_screen(self, run: Run, others: Sequence[Run] = ()) -> RunScreen:
        """The screen of `run`, with the `others` or the runs that are marked on its charts."""
        beside = [*others][: MAX_RUNS - 1] or self.session.comparison.beside(run)
        if not beside:
            return RunScreen(self._run_source(run))
        self.session.looks = assigned_looks(
            [run.id, *(other.id for other in beside)], self.session.looks
        )
        companions = [
            Companion(
                self._run_source(other),
                self.session.looks[other.id],
                other == self.session.comparison.reference,
            )
            for other in beside
        ]
        is_reference = run == self.session.comparison.reference
        look = self.session.looks[run.id]
        return RunScreen(self._run_source(run), look, companions, is_reference)


def _theme_name(palette_name: str) -> str:
    return f"operant-{palette_name}"


def _theme(name: str, palette: Palette) -> Theme:
    """The colours of Textual's own widgets."""
    if name == "plain":
        terminals = BUILTIN_THEMES["ansi-dark"]  # its own colours, whatever they are
        variables = {**terminals.variables, "bar": "ansi_default"}
        return replace(terminals, name=_theme_name(name), variables=variables)
    return Theme(
        _theme_name(name), primary=palette.focus, background=palette.background,
        surface=palette.background, panel=palette.bar, foreground=palette.text,
        warning=palette.warning, error=palette.error, success=palette.good,
        dark=name != "light", variables={"bar": palette.bar},
    )  # fmt: skip


def _bindings_of(pane: type[Drawing]) -> list[BindingType]:
    """The bindings of `pane` and of its base classes."""
    classes = [base for base in pane.__mro__ if issubclass(base, Drawing)]
    return [binding for base in classes for binding in vars(base).get("BINDINGS", ())]


def watch(
    run: Run | None,
    source: RunSource | None = None,
    *,
    beside: Sequence[Run] = (),
    theme: str | None = None,
    is_ascii: bool = False,
    is_readonly: bool = False,
    machines: Machines | None = None,
) -> None:
    """Show `run`, with the runs `beside` it, or the list of runs, until somebody quits. Only
    requests reach the trainer, and the monitor asks before it sends one.

    `source` gives the views of `run` where it is on another machine. The list is of this machine,
    or of all `machines`.
    """

    opened: list[Run] = []

    def run_source(wanted: Run) -> RunSource:
        if source and wanted == source.run and not opened:
            opened.append(wanted)  # it is closed with its screen
            return source
        if machines and isinstance(wanted, RunElsewhere):
            return machines.open(wanted)
        return RunPoller(wanted)

    app = MonitorApp(
        run,
        run_source=run_source,
        member_source=lambda member: RunPoller(member, max_rows=MEMBER_ROWS),
        runs_source=machines,
        settings_path=settings_path(),
        theme=theme,
        is_ascii=is_ascii or needs_ascii(),
        is_readonly=is_readonly,
    )
    app.session.comparison = Comparison(tuple(beside))
    streams = STREAMS if is_in_a_browser() else None
    try:
        with leaving_in_good_order(app.leave, streams):
            app.run()
    finally:
        if machines:
            machines.close()
    if app.return_code:
        raise SystemExit(app.return_code)
