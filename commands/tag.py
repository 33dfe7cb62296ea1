"""`operant tag`: words by which runs are found again."""

from __future__ import annotations

import click

from ..shared.errors import UsageError, nearest
from .helpers.candidates import run_ids
from .helpers.candidates import tags as known_tags
from .helpers.choosing_a_run import run_here


@click.command("tag")
@click.argument("run", shell_complete=run_ids)
@click.argument("tags", nargs=-1, metavar="[TAG]...", shell_complete=known_tags)
@click.option("--remove", is_flag=True, help="Remove these tags.")
def command(run: str, tags: tuple[str, ...], remove: bool) -> None:
    """Add tags to RUN. Without a TAG: print its tags.

    A tag is one word. The filter `tag:baseline` of the monitor's list shows the runs with that tag.
    """
    from ..shared.runs.run_notes import RunNotes, change_notes
    from .helpers.output import print_line

    def changed(notes: RunNotes) -> RunNotes:
        if not remove:
            return notes.with_tags(tags)
        for tag in tags:
            if not notes.has_tag(tag):
                raise UsageError(f"{chosen.id} has no tag '{tag}'{nearest(tag, notes.tags)}")
        return notes.without_tags(tags)

    chosen = run_here(run)
    if remove and not tags:
        raise UsageError(f"--remove which tags? {chosen.id} has {_in_words(chosen.notes().tags)}")
    if not tags:
        print_line(" ".join(chosen.notes().tags) or f"{chosen.id} has no tags")
        return
    notes = change_notes(chosen.folder, changed)
    print_line(f"{chosen.id}: {_in_words(notes.tags)}")


def _in_words(tags: tuple[str, ...]) -> str:
    return " ".join(tags) or "no tags"
