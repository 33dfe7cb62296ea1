"""`operant monitor`: watch runs."""

from __future__ import annotations

import sys

import click

from ..monitor.remote.host import RemoteName
from ..shared.errors import UsageError
from .choosing_a_run import chosen_host, chosen_run, run_argument, status_anywhere


@click.command("monitor")
@run_argument
@click.option("--once", is_flag=True, help="Print one plain report and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and exit.")
def command(run: str | None, latest: bool, once: bool, as_json: bool) -> None:
    """Watch a run from any terminal, or choose one from the list of all runs.

    RUN is a run's id or any part of it that no other run has. Leaving the monitor, or killing it,
    changes nothing for the run. HOST:RUN watches a run on another machine over your own ssh, HOST:
    its latest; $OPERANT_SSH and $OPERANT_REMOTE replace the commands `ssh` here, `operant` there.
    """
    if once or as_json:
        from .output import print_json, print_status

        status = status_anywhere(run, latest)
        if as_json:
            print_json(status.as_json())
        else:
            print_status(status)
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the monitor needs a terminal; use --once or --json without one")
    remote = chosen_host(run, latest)
    if remote:
        _watch_remote(remote)
        return
    chosen = chosen_run(run, latest) if run or latest else None

    from ..monitor.app import watch

    watch(chosen)


def _watch_remote(name: RemoteName) -> None:
    """Connect before the screen is taken, so that ssh can ask for a password."""
    from ..monitor.app import watch
    from ..monitor.remote.remote_run import RemoteRun

    source = RemoteRun(name)
    source.connect()
    source.start()
    try:
        watch(source.run, source)
    finally:
        source.close()
