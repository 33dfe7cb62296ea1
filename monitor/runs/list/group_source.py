"""Where the screen of groups gets what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....shared.runs.run_folder import Run
from ...charts.seeds import seeds_view
from ...charts.shown_run import Look, Watched
from ..reading.run_source import RunSource
from ..reading.run_view import RunView
from .group_statistics import Spread

MEMBER_ROWS = 1024  # of each run, about
POLLED_AT_ONCE = 16  # of the runs that were seen before
ENDED_EVERY = 8  # looks at those that live, for one at those that have ended


class WatchedGroup(NamedTuple):
    """A group that people want to see; without a `look` it is alone. Its `name` says how many runs
    it has.
    """

    name: str
    runs: tuple[Run, ...]
    look: Look | None = None
    is_reference: bool = False


class GroupLook(NamedTuple):
    """One look at a group: what charts draw, and its runs."""

    watched: Watched
    views: tuple[RunView, ...]


class GroupsLooker:
    """Polls the runs of some groups in one thread, a few at each look but all at the first; groups
    of which nothing changed stay the very same.
    """

    def __init__(
        self,
        groups: Sequence[WatchedGroup],
        source_of: Callable[[Run], RunSource],
        spread: Callable[[], Spread],
    ) -> None:
        self._groups, self._spread = tuple(groups), spread
        runs = dict.fromkeys(run for group in groups for run in group.runs)
        self._sources = {run: source_of(run) for run in runs}
        self._views: dict[Run, RunView] = {}
        self._known: dict[int, tuple[object, GroupLook]] = {}
        self._turn = 0
        self._next = {True: 0, False: 0}  # among those that live, and among all

    def look(self) -> tuple[GroupLook, ...]:
        for run in self._due():
            self._views[run] = self._sources[run].poll()
        self._turn += 1
        return tuple(self._look_at(i, group) for i, group in enumerate(self._groups))

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    def _due(self) -> list[Run]:
        new = [run for run in self._sources if run not in self._views]
        if new:
            return new
        alive = [run for run, view in self._views.items() if view.status.is_alive]
        is_of_alive = bool(self._turn % ENDED_EVERY)
        runs = alive if is_of_alive else list(self._sources)
        begin = self._next[is_of_alive] if self._next[is_of_alive] < len(runs) else 0
        self._next[is_of_alive] = begin + POLLED_AT_ONCE
        return runs[begin : begin + POLLED_AT_ONCE]

    def _look_at(self, place: int, group: WatchedGroup) -> GroupLook:
        views = tuple(self._views[run] for run in group.runs)
        spread = self._spread()
        news = (spread, *((id(v.history), v.publish, v.status.is_alive) for v in views))
        known = self._known.get(place)
        if known is None or known[0] != news:
            view = seeds_view(group.name, views, spread)
            watched = Watched(view, group.look, group.is_reference)
            known = news, GroupLook(watched, views)
            self._known[place] = known
        return known[1]._replace(views=views)
