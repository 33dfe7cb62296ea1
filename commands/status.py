"""`operant status`: one look at a run."""

from __future__ import annotations

import click

from ..shared.run_folder import find_run
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
    num_lost = 0 if chosen_host(run, latest) else _num_lost(status.run)
    if as_json:
        print_json(status.as_json() | ({"lost_rows": num_lost} if num_lost else {}))
        return
    print_status(status)
    if num_lost:
        print_line(f"  {num_lost} rows were overwritten before a recorder could keep them")


def _num_lost(run_id: str) -> int:
    from ..shared.row_file import num_lost_rows

    run = find_run(run_id)
    return num_lost_rows(run.rows_path(rank) for rank in run.ranks())
