"""`operant status`: one look at a run."""

from __future__ import annotations

import click

from .choosing_a_run import run_argument, status_anywhere


@click.command("status")
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, latest: bool, as_json: bool) -> None:
    """Show how a run is doing, the latest by default.

    RUN is a run's id or any part of it that no other run has; HOST:RUN one on another machine, over
    your own ssh.
    """
    from .output import print_json, print_status

    status = status_anywhere(run, latest)
    if as_json:
        print_json(status.as_json())
    else:
        print_status(status)
