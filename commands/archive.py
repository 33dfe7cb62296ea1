"""`operant archive`: leave runs out of lists, and keep them."""

from __future__ import annotations

import click

from .helpers.candidates import run_ids
from .helpers.choosing_a_run import runs_here


@click.command("archive")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=run_ids)
@click.option("--undo", is_flag=True, help="Show the runs in lists again.")
def command(runs: tuple[str, ...], undo: bool) -> None:
    """Hide RUNs from lists. Nothing is moved or deleted.

    `operant runs --archived` and the filter `archived:yes` of the monitor's list show archived
    runs. All commands still accept them by name.
    """
    from dataclasses import replace

    from ..shared.runs.run_notes import change_notes
    from .helpers.output import print_line

    for run in runs_here(runs):
        was_archived = run.notes().is_archived
        change_notes(run.folder, lambda notes: replace(notes, is_archived=not undo))
        words = "in the lists" if undo else "archived"
        print_line(f"{run.id}: {words}" + (" already" if was_archived != undo else ""))
