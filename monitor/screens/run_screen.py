"""One run, live or as it was, and others beside it on the same charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from ...shared.runs.run_folder import Run
from ..charts.shown_run import Look, Watched
from ..panels.event_lines import failure_events
from ..panels.hints import hint_of
from ..panels.pane_layout import PANES
from ..panels.run_summary import draw_notice, draw_numbers, draw_progress, draw_title
from ..panels.run_table import short_name
from ..render.lines import Line, line_width
from ..runs.list.comparison import MAX_RUNS
from ..runs.machine.gpu_load import GpuLoad
from ..runs.machine.machine import MachineSample
from ..runs.reading.alerts import Alert
from ..runs.reading.replay import row_at, view_at
from ..runs.reading.run_feed import RunFeed
from ..runs.reading.run_source import Companion, Looked, Looker, RunSource
from ..runs.reading.run_view import RunView
from ..session.arrangements import project_of
from ..session.settings import Settings
from ..widgets.chart_grid import ChartGrid
from ..widgets.drawing import Drawn
from ..widgets.key_line import KeyLine
from ..widgets.pane import Pane
from ..widgets.run_panes import RunPanes
from ..widgets.search_line import SearchLine
from ..widgets.time_slider import TimeSlider
from .monitor_screen import MonitorScreen

_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("tab", "pane"),
    ("enter", "enlarge"),
    ("esc", "all runs"),
    ("/", "find"),
    ("1-7", "panes"),
    ("r", "replay"),
)
_FIRST, _REST = _KEYS[:4], _KEYS[4:]  # between them, keys of the pane that has the focus
_ENLARGED = {"enter": "shrink", "esc": "back"}  # what keys do where a pane is enlarged
_WIDE = 100  # from here the legend says why runs are left out


def _legend(width: int, _: int, watched: Sequence[Watched], num_left_out: int) -> list[Line]:
    """Marker, colour and name of every run on the charts; `num_left_out` more were chosen."""
    why = f": {MAX_RUNS} at most" if width >= _WIDE else ""
    left_out: Line = [(f"+{num_left_out} not drawn{why} ", "warning")] if num_left_out else []
    line: Line = [(" ", "text")]
    runs = [one for one in watched if one.look]
    room = max(8, (width - line_width(left_out)) // max(1, len(runs)) - 5)
    for place, one in enumerate(runs):
        piece = [*_piece(one, room), ("  ", "text")]
        num_more = len(runs) - place - 1
        more: Line = [(f"+{num_more + 1} more  ", "dim")]
        needed = line_width([*line, *piece, *left_out])
        if needed + (line_width(more) if num_more else 0) > width:
            line += more
            break
        line += piece
    return [[*line, *left_out]]


def _piece(one: Watched, room: int) -> Line:
    """A run in about `room` cells; the reference is named so."""
    assert one.look
    name = short_name(one.view.name, room - 4 * one.is_reference)
    piece: Line = [(f"{one.look.marker} ", one.look.style), (name, "text")]
    return [*piece, (" ref", "focus")] if one.is_reference else piece


def _head(width: int, _: int, view: RunView) -> list[Line]:
    """Name, state and age; the numbers everybody asks for; how far the run is."""
    return [draw(view, width) for draw in (draw_title, draw_numbers, draw_progress)]


def _notice(width: int, _: int, view: RunView, alerts: Sequence[Alert], warning: str) -> list[Line]:
    """The run's own message; without one `warning`, or else the newest of `alerts`."""
    line = draw_notice(view, width, alerts, warning)
    return [line] if line else []


class RunScreen(MonitorScreen):
    """How a run is doing, its curves, where its time goes, and what happened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "back", "make small again, or back to all runs"),
        Binding("tab", "app.focus_next", "next, previous pane"),
        Binding("shift+tab", "app.focus_previous", "next, previous pane"),
        *(Binding(str(i), f"choose_pane('{pane}')", "panes; there: hide: " + " ".join(PANES),
                  tooltip=f"go to the pane {pane}; there: hide it")
          for i, pane in enumerate(PANES, 1)),
        Binding("slash", "find", "find charts, events, console lines, keys"),
        Binding("0", "reset", "charts as they come; again: the panes"),
        Binding("space", "pause", "pause and go on; play the replay"),
        Binding("r", "replay", "replay: the run as it was"),
        Binding("e", "edit", "edit the run's note"),
        Binding("X", "ask('stop')", "ask the trainer to stop"),
        Binding("C", "ask('checkpoint')", "ask the trainer for a checkpoint"),
        Binding("T", "ask('trace')", "ask the trainer for a trace of an iteration"),
    ]  # fmt: skip
    AUTO_FOCUS = "#charts"
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (56, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-tiny"),
        (14, "-short"),
        (22, "-middle"),
        (34, "-tall"),
        (50, "-huge"),
    ]

    is_paused: var[bool] = var(False, init=False)

    class ViewArrived(Message):
        """The feed looked at the runs, and has what it saw last."""

    class MachineSampled(Message):
        """The machine was looked at."""

        def __init__(self, sample: MachineSample | None) -> None:
            super().__init__()
            self.sample = sample

    class Closed(Message):
        """Somebody wants to leave `run` for the list of all."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run = run

    class Asked(Message):
        """Somebody wants `request` of the trainer of `run`."""

        def __init__(self, run: Run, request: str) -> None:
            super().__init__()
            self.run, self.request = run, request

    class Alarmed(Message):
        """There are alerts that were not there before, or the run has ended by now."""

    def __init__(
        self,
        source: RunSource,
        look: Look | None = None,
        companions: Sequence[Companion] = (),
        is_reference: bool = False,
    ) -> None:
        super().__init__()
        self.run, self._source = source.run, source
        self._looked: Looked | None = None
        self._has_sampled = False
        self._gpu_load = GpuLoad()
        self._known_alerts: set[Alert] | None = None
        self._was_alive = False
        self.feed = RunFeed(
            source,
            Looker(source, look, companions, is_reference),
            interval_s=lambda: self.settings.refresh_s,
            tell=lambda: self.post_message(self.ViewArrived()),
            tell_machine=lambda sample: self.post_message(self.MachineSampled(sample)),
        )

    @property
    def has_looked(self) -> bool:
        """Whether there is anything to see: the run, and the machine where it lives here."""
        return self._looked is not None and self._has_sampled

    @property
    def has_all_rows(self) -> bool:
        """Whether `has_looked`, and charts and media show what they will show."""
        return self.has_looked and not self._panes.is_reading

    @property
    def state(self) -> str:
        """The state of the run at the last look; nothing before the first."""
        return self._looked.view.status.state if self._looked else ""

    def compose(self) -> ComposeResult:
        yield Drawn("head", _head)
        yield Drawn("notice", _notice)
        yield Drawn("legend", _legend)
        yield RunPanes()
        yield TimeSlider()
        yield SearchLine()
        yield KeyLine(_KEYS)

    def on_mount(self) -> None:
        arrangement = self.session.arrangements.of(project_of(self.run.id))
        self._panes.grid.options = replace(self.settings.chart_options(), arrangement=arrangement)
        self._panes.wanted = tuple(dict.fromkeys((*self.settings.panes, "charts")))
        self._panes.place()
        self.feed.start()

    def on_unmount(self) -> None:
        self.feed.stop()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Name the keys of the pane that has the focus: two of them early, for narrow screens."""
        self._name_keys(event.widget)

    def on_pane_enlarged(self) -> None:
        self._name_keys(self.focused)

    def _name_keys(self, focused: Widget | None) -> None:
        keys = focused.KEYS if isinstance(focused, Pane) else ()
        named = (*_FIRST, *keys[:2], *_REST, *keys[2:])
        if isinstance(focused, Pane) and focused.is_enlarged:
            named = tuple((key, _ENLARGED.get(key, what)) for key, what in named)
        self.query_one(KeyLine).keys = named

    def on_run_screen_view_arrived(self) -> None:
        looked = self.feed.take()
        is_first, self._looked = self._looked is None, looked
        if is_first:
            self._begin(looked.view)
        self._ring(looked.alerts, looked.view.status.is_alive)
        if is_first or not self.is_paused:
            self.show_run()

    def on_run_screen_machine_sampled(self, message: MachineSampled) -> None:
        self._has_sampled = True
        if self.feed.newest:
            self._gpu_load.add(message.sample, self.feed.newest.view.status)
        self._panes.show_machine(message.sample)

    def show_run(self) -> None:
        """Everything, as of now or as of the moment that the slider stands at."""
        if self._looked is None:
            return
        (front, *others), alerts = self._looked
        view = front.view
        slider = self.query_one(TimeSlider)
        if slider.is_in_the_past:
            view = view_at(view, row_at(view, slider.share))
            alerts = tuple(alert for alert in alerts if alert.publish <= view.publish)
        watched = [front._replace(view=view), *others]
        events = (failure_events(view) if view is front.view else None) or view.events
        self.query_one("#head", Drawn).show(view)
        notice, legend = (self.query_one(id, Drawn) for id in ("#notice", "#legend"))
        notice.display = draw_notice(view, 80, alerts, self.session.warning) is not None
        notice.show(view, alerts, self.session.warning)
        legend.display = len(watched) > 1
        legend.show(watched, self.session.comparison.num_left_out(self.run))
        # What is tried changes the next run, so the past has no hints.
        hint = None if slider.is_in_the_past else hint_of(view, self._gpu_load.busy)
        self._panes.show(watched, events, alerts, hint)
        self.tell_modes()

    def tell_modes(self) -> None:
        """What is not as usual, beside the keys."""
        slider = self.query_one(TimeSlider)
        modes = ["paused"] if self.is_paused else []
        if slider.is_in_the_past:
            modes.append("playing" if slider.is_playing else "in the past")
        grid = self._panes.grid
        modes += [f"{grid.board.num_hidden} hidden"] if grid.board.num_hidden else []
        modes.append(grid.options.in_words())
        self.query_one(KeyLine).tell(" · ".join(mode for mode in modes if mode))

    def on_chart_grid_options_changed(self, message: ChartGrid.OptionsChanged) -> None:
        self.change_settings(**self.settings.with_chart_options(message.options))
        self.session.keep_arrangement(project_of(self.run.id), message.options.arrangement)
        self.tell_modes()

    def on_time_slider_moved(self) -> None:
        self.show_run()

    def action_back(self) -> None:
        """Make the enlarged pane small; else drop the filters; leave where there is neither."""
        if not self._panes.make_small() and not self._panes.drop_words():
            self.post_message(self.Closed(self.run))

    def action_choose_pane(self, pane: str) -> None:
        if problem := self._panes.choose(pane):
            self.notify(problem, timeout=3)
        self.change_settings(panes=self._panes.wanted)

    def action_reset(self) -> None:
        """The charts as they come; where they are, the panes: the second time all is as it was."""
        grid = self._panes.grid
        plain = grid.options.reset()
        if grid.options != plain:
            grid.options = plain
            return
        self._panes.make_small()
        self._panes.wanted = Settings().panes
        self.change_settings(panes=self._panes.wanted)

    def action_find(self) -> None:
        """In the pane that has the keys; among the charts when it has nothing to find."""
        self.query_one(SearchLine).search(self._panes.searched(self.focused))

    def action_pause(self) -> None:
        slider = self.query_one(TimeSlider)
        has_ended = self._looked is not None and not self._looked.view.status.is_alive
        if has_ended or slider.is_in_the_past or (slider.display and slider.has_focus):
            slider.display = True
            slider.play_or_pause()
        else:
            self.is_paused = not self.is_paused
            self.show_run()
        self.tell_modes()

    def action_replay(self) -> None:
        """Go to the slider; once there, put it away and be back at the newest moment."""
        slider = self.query_one(TimeSlider)
        slider.is_playing = False
        slider.display = not slider.has_focus
        if slider.display:
            slider.focus()
        else:
            slider.share = 1.0
            self._panes.grid.focus()

    def action_edit(self) -> None:
        if self._looked:
            self.post_message(self.NotesWanted(self.run, self._looked.view.notes))

    def action_ask(self, request: str) -> None:
        self.post_message(self.Asked(self.run, request))

    def _begin(self, view: RunView) -> None:
        """How a run opens: what has ended can be replayed, what failed says why first."""
        self.query_one(TimeSlider).display = not view.status.is_alive and self.app.size.height >= 18
        if failure_events(view):
            self._panes.read_events()

    def _ring(self, alerts: Sequence[Alert], is_alive: bool) -> None:
        known, self._known_alerts = self._known_alerts, set(alerts)
        has_ended, self._was_alive = self._was_alive and not is_alive, is_alive
        if has_ended or (known is not None and self._known_alerts - known):
            self.post_message(self.Alarmed())

    @property
    def _panes(self) -> RunPanes:
        return self.query_one(RunPanes)
