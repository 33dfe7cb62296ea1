"""`operant note`: what people want to remember of a run."""

from __future__ import annotations

import click

from .helpers.candidates import run_ids
from .helpers.choosing_a_run import run_here


@click.command("note")
@click.argument("run", shell_complete=run_ids)
@click.argument("text", required=False)
def command(run: str, text: str | None) -> None:
    """Write a note about RUN and replace its old one. Without TEXT: print the note.

    A note is one line of up to 1,000 characters; "" deletes it. It is saved in the run's folder,
    during and after the run. `operant status`, the list of runs and the monitor show it; `e` in the
    monitor edits it.
    """
    from dataclasses import replace

    from ..shared.runs.run_notes import change_notes
    from .helpers.output import print_line

    chosen = run_here(run)
    if text is None:
        print_line(chosen.notes().note or f"{chosen.id} has no note")
        return
    notes = change_notes(chosen.folder, lambda notes: replace(notes, note=text))
    print_line(f"{chosen.id}: {notes.note or 'no note any more'}")
