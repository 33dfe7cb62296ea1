"""`operant rename`: the name that is shown of a run."""

from __future__ import annotations

import click

from ..shared.errors import UsageError
from .helpers.candidates import run_ids
from .helpers.choosing_a_run import run_here


@click.command("rename")
@click.argument("run", shell_complete=run_ids)
@click.argument("name", required=False)
@click.option("--undo", is_flag=True, help="Remove the name; show the id again.")
def command(run: str, name: str | None, undo: bool) -> None:
    """Give RUN a name, which lists, the monitor and all commands then use.

    The run's folder and id do not change, and the id still works. No two runs have the same name.
    """
    from dataclasses import replace

    from ..shared.runs.find_runs import check_is_free
    from ..shared.runs.run_notes import change_notes
    from .helpers.output import print_line

    chosen = run_here(run)
    if bool(name and name.strip()) == undo:
        raise UsageError("give either a new name or --undo")
    wanted = " ".join((name or "").split())
    if wanted:
        check_is_free(wanted, chosen.id)
    notes = change_notes(chosen.folder, lambda notes: replace(notes, name=wanted))
    print_line(f"{chosen.id}: {notes.name or 'shown by its id'}")
