"""Groups of runs: the mean of their seeds, with an interval around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.runs.run_folder import Run
from ..panels.group_head import draw_group_head
from ..runs.list.group_source import GroupLook, GroupsLooker, WatchedGroup
from ..runs.list.group_statistics import SPREADS, Spread
from ..runs.reading.poll_loop import PollLoop
from ..runs.reading.run_source import RunSource
from ..widgets.chart_grid import ChartGrid
from ..widgets.drawing import Drawn
from ..widgets.key_line import KeyLine
from ..widgets.search_line import SearchLine
from .monitor_screen import MonitorScreen

_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("enter", "enlarge"),
    ("v", "bands"),
    ("z", "zoom"),
    (",.", "cursor"),
    ("esc", "back"),
    ("/", "find"),
    ("s", "smooth"),
    ("a", "axis"),
)


class GroupScreen(MonitorScreen):
    """Charts of one group of runs, or of several, as long as its runs are those it began with."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "back", "make small again, or back to the groups"),
        Binding("slash", "find", "find charts"),
        Binding("0", "reset", "charts as they come"),
        Binding("v", "next_spread", "bands: quartiles, min to max, standard error, IQM"),
    ]
    AUTO_FOCUS = "#charts"

    class ViewArrived(Message):
        """The runs were looked at."""

        def __init__(self, looks: tuple[GroupLook, ...]) -> None:
            super().__init__()
            self.looks = looks

    def __init__(
        self, groups: Sequence[WatchedGroup], source_of: Callable[[Run], RunSource]
    ) -> None:
        super().__init__()
        self._groups = tuple(groups)
        self._spread: Spread = SPREADS[0]  # for the thread that looks, which may outlive the screen
        looker = GroupsLooker(groups, source_of, lambda: self._spread)
        self._loop = PollLoop(
            poll=looker.look,
            deliver=lambda looks: self.post_message(self.ViewArrived(looks)),
            interval_s=lambda _: self.settings.refresh_s,
            close=looker.close,
        )

    def compose(self) -> ComposeResult:
        head = Drawn("group-head", draw_group_head)
        head.styles.height = 1 + len(self._groups)
        yield head
        yield ChartGrid()
        yield SearchLine()
        yield KeyLine(_KEYS)

    def on_mount(self) -> None:
        self._spread = self.settings.seeds_spread
        self._show_head(())
        self.query_one(ChartGrid).options = self.settings.chart_options()
        self._loop.start()

    def on_unmount(self) -> None:
        self._loop.stop()

    def on_group_screen_view_arrived(self, message: ViewArrived) -> None:
        self.query_one(ChartGrid).show([look.watched for look in message.looks])
        self._show_head(message.looks)
        self.tell_modes()

    def _show_head(self, looks: Sequence[GroupLook]) -> None:
        head = self.query_one("#group-head", Drawn)
        head.show(self._groups, looks, self.settings.seeds_spread)

    def tell_modes(self) -> None:
        self.query_one(KeyLine).tell(self.query_one(ChartGrid).options.in_words())

    def on_chart_grid_options_changed(self, message: ChartGrid.OptionsChanged) -> None:
        self.change_settings(**self.settings.with_chart_options(message.options))
        self.tell_modes()

    def action_reset(self) -> None:
        grid = self.query_one(ChartGrid)
        grid.options = grid.options.reset()

    def action_find(self) -> None:
        self.query_one(SearchLine).search(self.query_one(ChartGrid))

    def action_back(self) -> None:
        grid = self.query_one(ChartGrid)
        if grid.is_enlarged:
            grid.is_enlarged = False
        elif grid.words:
            grid.words = ()
        else:
            self.app.pop_screen()

    def action_next_spread(self) -> None:
        """From the next look on."""
        place = (SPREADS.index(self.settings.seeds_spread) + 1) % len(SPREADS)
        self._spread = SPREADS[place]
        self.change_settings(seeds_spread=self._spread)
