"""`operant status`: one look at a run."""

from __future__ import annotations

import click

from .choosing_a_run import chosen_run, run_argument


@click.command("status")
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, latest: bool, as_json: bool) -> None:
    """Show how a run is doing, the latest by default.

    RUN is a run's id or any part of it that no other run has.
    """
    from ..shared.ranks import read_status
    from .output import print_json, print_status

    status = read_status(chosen_run(run, latest))
    if as_json:
        print_json(status.as_json())
    else:
        print_status(status)
