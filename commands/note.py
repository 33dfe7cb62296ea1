"""`operant note`: what people want to remember of a run."""

from __future__ import annotations

import click

from .candidates import run_ids
from .choosing_a_run import run_here


@click.command("note")
@click.argument("run", shell_complete=run_ids)
@click.argument("text", required=False)
def command(run: str, text: str | None) -> None:
    """Write a note about RUN, in place of the one it has; without TEXT print it.

    A note is a line of up to 1,000 characters; "" takes it away. It is kept in the run's folder,
    whether the run goes on or has ended, and shown by status, the list of runs and the monitor,
    where `e` edits it.
    """
    from dataclasses import replace

    from ..shared.run_notes import change_notes
    from .output import print_line

    chosen = run_here(run)
    if text is None:
        print_line(chosen.notes().note or f"{chosen.id} has no note")
        return
    notes = change_notes(chosen.folder, lambda notes: replace(notes, note=text))
    print_line(f"{chosen.id}: {notes.note or 'no note any more'}")
