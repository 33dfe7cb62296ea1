"""`operant monitor`: watch runs."""

from __future__ import annotations

import sys

import click

from ..shared.errors import UsageError
from .choosing_a_run import chosen_run, run_argument


@click.command("monitor")
@run_argument
@click.option("--once", is_flag=True, help="Print one plain report and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and exit.")
def command(run: str | None, latest: bool, once: bool, as_json: bool) -> None:
    """Watch a run from any terminal, or choose one from the list of all runs.

    RUN is a run's id or any part of it that no other run has. Leaving the monitor, or killing it,
    changes nothing for the run.
    """
    if once or as_json:
        from ..shared.ranks import read_status
        from .output import print_json, print_status

        status = read_status(chosen_run(run, latest))
        if as_json:
            print_json(status.as_json())
        else:
            print_status(status)
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the monitor needs a terminal; use --once or --json without one")
    chosen = chosen_run(run, latest) if run or latest else None

    from ..monitor.app import watch

    watch(chosen)
