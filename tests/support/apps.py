"""The monitor on made-up runs."""

from __future__ import annotations

from groups import ROWS, grouped_runs, member
from views import StillRun, StillRuns, all_states, make_view

from operant.monitor.app import MonitorApp
from operant.monitor.runs.list.runs_poller import RunsView


def watching(view=None) -> MonitorApp:
    """The monitor on one run that stays as it is, among runs in all states."""
    source = StillRun(view or make_view())
    return MonitorApp(source.run, run_source=lambda _: source, runs_source=StillRuns(all_states()))


def choosing(runs: RunsView | None = None) -> MonitorApp:
    """The monitor on the list of runs."""
    source = StillRun(make_view())
    return MonitorApp(run_source=lambda _: source, runs_source=StillRuns(runs or all_states()))


def grouping() -> MonitorApp:
    """The monitor on a list of six runs in two groups."""
    rows = {row.run: row for row in ROWS}
    return MonitorApp(
        runs_source=StillRuns(grouped_runs()), run_source=lambda run: member(rows[run])
    )
