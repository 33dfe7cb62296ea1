"""`operant edit`: a run's note, tags and name, and whether it is archived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError, nearest
from .command import Command, json_option
from .helpers.candidates import run_ids
from .helpers.candidates import tags as known_tags
from .helpers.choosing_a_run import run_here

if TYPE_CHECKING:
    from ..shared.runs.run_notes import RunNotes


@click.command("edit", cls=Command)
@click.argument("run", shell_complete=run_ids)
@click.option("--note", metavar="TEXT", help="Replace the note; none removes it.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", shell_complete=known_tags,
    help="Add a tag; may be repeated.",
)  # fmt: skip
@click.option(
    "--untag", "untags", multiple=True, metavar="TAG", shell_complete=known_tags,
    help="Remove a tag; may be repeated.",
)  # fmt: skip
@click.option("--rename", "name", metavar="NAME", help="Replace the name; none shows the id again.")
@click.option("--archive/--unarchive", default=None, help="Hide RUN from lists, or show it again.")
@json_option
def command(
    run: str,
    note: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    name: str | None,
    archive: bool | None,
    as_json: bool,
) -> None:
    """Change the note, the tags or the name of RUN, or archive it.

    A note is one line of up to 1,000 characters, a tag one word, and no two runs have the same
    name. The run's folder and id do not change, and the id still works. `operant status`, the list
    of runs and the monitor show notes and tags. `operant runs archived:yes` lists archived runs,
    and all commands still accept them by name. `e` in the monitor edits a note.
    """
    from dataclasses import replace

    from ..monitor.panels.run_table import notes_in_words
    from ..shared.runs.find_runs import check_is_free
    from ..shared.runs.run_notes import change_notes
    from ..shared.runs.status import read_status
    from .helpers.output import print_json, print_line, run_json

    if note is None and name is None and archive is None and not (tags or untags):
        options = "--note, --tag, --untag, --rename, --archive or --unarchive"
        raise UsageError(f"nothing to change: give {options}")
    chosen = run_here(run)
    new_name = None if name is None else _unless_none(" ".join(name.split()))
    if new_name:
        check_is_free(new_name, chosen.id)

    def changed(notes: RunNotes) -> RunNotes:
        for tag in untags:
            if not notes.has_tag(tag):
                raise UsageError(f"{chosen.id} has no tag '{tag}'{nearest(tag, notes.tags)}")
        return replace(
            notes.without_tags(untags).with_tags(tags),
            note=notes.note if note is None else _unless_none(note),
            name=notes.name if new_name is None else new_name,
            is_archived=notes.is_archived if archive is None else archive,
        )

    notes = change_notes(chosen.folder, changed)
    if as_json:
        print_json(run_json(read_status(chosen), notes, chosen))
    else:
        about = f"{notes.name} {notes_in_words(notes)}".strip()
        print_line(f"{chosen.id}: {about or 'no name, note or tag'}")


def _unless_none(text: str) -> str:
    return "" if text == "none" else text
