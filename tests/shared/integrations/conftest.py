"""Runs of loops: begun in this process or another, and looked at as any command would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import operant
from operant.shared import Event, History, Outcome
from operant.shared.integrations import current_run
from operant.shared.rows.curves import Curves
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import RunStatus, open_page, read_status


@pytest.fixture(autouse=True)
def _no_current_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test begins without a run, and leaves none open."""
    monkeypatch.setattr(current_run, "current", None)
    yield
    operant.finish()


class Seen:
    """The only run, as other commands see it."""

    @property
    def run(self) -> Run:
        (run,) = list_runs()
        return run

    @property
    def status(self) -> RunStatus:
        return read_status(self.run)

    @property
    def events(self) -> list[Event]:
        reader = open_page(self.run)
        events = reader.events()
        reader.detach()
        return events

    @property
    def outcome(self) -> Outcome | None:
        reader = open_page(self.run)
        outcome = reader.outcome()
        reader.detach()
        return outcome

    @property
    def history(self) -> History:
        with Curves.of_run(self.run) as curves:
            return curves.history()

    def series(self, name: str) -> list[float]:
        """The values of a metric where it was written."""
        mean = self.history.series(name).mean
        return [float(value) for value in mean[mean == mean]]


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def run_script() -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a script in a process of its own."""

    def run_script(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=900
        )

    return run_script
