"""What those who wait for a run in the background are told until it has numbers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import click

from ..monitor.look.formatting import SHOWN_PHASES, format_phase
from ..monitor.runs.conditions import phase_words
from ..shared.ranks import read_status
from ..shared.run_folder import Run
from ..shared.status import RunStatus

SAY_EVERY_S = 2.0


class Waiting:
    """Says on standard error what a run does before its first publish: a terminal is told every few
    seconds, and anything else once for as long as as much of it is done, as `PlainProgress` does.
    """

    def __init__(self, run: Run, now: Callable[[], float] = time.monotonic) -> None:
        self._run, self._now = run, now
        self._said_at = now()
        self._said = ""

    def is_over(self) -> bool:
        """Whether the run has published."""
        status = read_status(self._run)
        if self._now() - self._said_at >= SAY_EVERY_S and status.phase:
            self._say(status)
        return status.env_steps is not None

    def _say(self, status: RunStatus) -> None:
        words = phase_words(status)
        if not sys.stderr.isatty():  # a file keeps every line: none that only the clock changes
            if status.phase not in SHOWN_PHASES:
                return
            words = format_phase(
                status.phase, status.phase_done, status.phase_total, status.phase_unit
            )
            if words == self._said:
                return
        self._said_at, self._said = self._now(), words
        click.echo(f"{self._run.id}: {words}", err=True)
