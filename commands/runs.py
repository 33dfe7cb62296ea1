"""`operant runs`: all runs."""

from __future__ import annotations

import click


@click.command("runs")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(as_json: bool) -> None:
    """List all runs with their state, newest first."""
    from ..shared.ranks import status_in_list
    from ..shared.run_folder import list_runs, no_runs_text
    from .output import headline, print_json, print_line

    statuses = [status_in_list(run) for run in list_runs()]
    if as_json:
        print_json([status.as_json(metrics=False) for status in statuses])
        return
    if not statuses:
        print_line(no_runs_text())
    width = max((len(status.run) for status in statuses), default=0)
    for status in statuses:
        print_line(f"{status.run:<{width}}  {headline(status)}")
