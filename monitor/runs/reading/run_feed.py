"""Looks at a run and at its machine, from threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..machine.machine import MachineSample
from .poll_loop import PollLoop
from .run_source import Looked, Looker, RunSource

MACHINE_EVERY_S = 2.0


class RunFeed:
    """Polls a run in threads, for a screen that draws when it has time.

    `tell` is called once for however many looks come before `take`, so that a slow machine never
    has more than one of them to catch up with; `tell_machine` gets every sample of the machine.
    Both are called from other threads.
    """

    def __init__(
        self,
        source: RunSource,
        looker: Looker,
        interval_s: Callable[[], float],
        tell: Callable[[], object],
        tell_machine: Callable[[MachineSample | None], object],
    ) -> None:
        self.newest: Looked | None = None
        self._tell, self._is_told = tell, False
        self._loops: list[PollLoop[Any]] = [
            PollLoop(
                poll=looker.look,
                deliver=self.deliver,
                interval_s=lambda _: interval_s(),
                close=looker.close,
            ),
            PollLoop(
                poll=source.machine,
                deliver=tell_machine,
                interval_s=lambda _: MACHINE_EVERY_S,
            ),
        ]

    def start(self) -> None:
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        for loop in self._loops:
            loop.stop()

    def deliver(self, looked: Looked) -> None:
        """Keep `looked` in place of what nobody has taken."""
        self.newest = looked
        if not self._is_told:
            self._is_told = True
            self._tell()

    def take(self) -> Looked:
        """The newest view, once it was announced."""
        self._is_told = False
        assert self.newest
        return self.newest
