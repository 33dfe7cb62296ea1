"""Where a run's screen gets what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ....shared.runs.run_folder import Run
from ...charts.shown_run import Look, Watched
from ..machine.machine import MachineSample
from .alerts import Alert
from .run_view import RunView


class RunSource(Protocol):
    """Views of one run; `RunPoller` is the source that reads pages.

    `machine` is asked by another thread than `poll`.
    """

    run: Run

    def poll(self) -> RunView: ...

    def machine(self) -> MachineSample | None: ...

    def close(self) -> None: ...


class Companion(NamedTuple):
    """Another run on the same charts."""

    source: RunSource
    look: Look
    is_reference: bool = False


class Looked(NamedTuple):
    """One look at all runs of a screen, the one it is about first, and that one's alerts."""

    watched: tuple[Watched, ...]
    alerts: tuple[Alert, ...]

    @property
    def view(self) -> RunView:
        return self.watched[0].view


class Looker:
    """Polls the runs of a screen in one thread: the one it is about every time, its companions
    every few times.
    """

    EVERY = 4

    def __init__(
        self,
        source: RunSource,
        look: Look | None,
        companions: Sequence[Companion] = (),
        is_reference: bool = False,
    ) -> None:
        self._source, self._look, self._companions = source, look, companions
        self._is_reference = is_reference
        self._others: list[Watched] = []
        self._turn = 0

    def look(self) -> Looked:
        view = self._source.poll()
        if self._turn % self.EVERY == 0:
            self._others = [
                Watched(c.source.poll(), c.look, c.is_reference) for c in self._companions
            ]
        self._turn += 1
        front = Watched(view, self._look, self._is_reference)
        return Looked((front, *self._others), view.alerts)

    def close(self) -> None:
        for source in (self._source, *(one.source for one in self._companions)):
            source.close()
