"""`operant status`: one look at a run."""

from __future__ import annotations

import click

from .choosing_a_run import chosen_host, run_argument, status_anywhere


@click.command("status")
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, latest: bool, as_json: bool) -> None:
    """Show how a run is doing, the latest by default.

    RUN is a run's id or any part of it that no other run has; HOST:RUN one on another machine, over
    your own ssh.
    """
    from .output import print_json, print_line, print_status

    status = status_anywhere(run, latest)
    lost = {} if chosen_host(run, latest) else _num_lost(status.run)
    if as_json:
        print_json(status.as_json() | {f"lost_{what}": count for what, count in lost.items()})
        return
    print_status(status)
    for what, count in lost.items():
        print_line(f"  {count} {what} were overwritten before a recorder could keep them")


def _num_lost(run_id: str) -> dict[str, int]:
    """What was lost, by its name, and how much of it; what was not is not there."""
    from ..shared.row_file_reader import num_lost
    from ..shared.run_folder import find_run

    run = find_run(run_id)
    num_rows, num_events = num_lost(run.rows_path(rank) for rank in run.ranks())
    counts = {"rows": num_rows, "messages": num_events}
    return {what: count for what, count in counts.items() if count}
