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
from .progress import SAY_AGAIN_S

SAY_EVERY_S = 2.0


class Waiting:
    """Says on standard error what a run does before its first publish: on a terminal every few
    seconds, and in a file less often while nothing but the time changes, as `PlainProgress` does.
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
        assert status.phase
        done = format_phase(status.phase, status.phase_done, status.phase_total, status.phase_unit)
        if not sys.stderr.isatty():  # a file keeps every line
            since_s = self._now() - self._said_at
            is_told = done == self._said and since_s < SAY_AGAIN_S
            if status.phase not in SHOWN_PHASES or is_told:
                return
        self._said_at, self._said = self._now(), done
        click.echo(f"{self._run.id}: {phase_words(status)}", err=True)
