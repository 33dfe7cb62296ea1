"""Notes and tags, written from the monitor into the run's folder."""

from __future__ import annotations

import re
from dataclasses import replace

from ...shared.run_folder import Run
from ...shared.run_notes import RunNotes, change_notes
from .edit_dialog import EditDialog

ELSEWHERE = "the run is on another machine: its notes are read only from here"
READ_ONLY = "--readonly: nothing is written from here"


def why_not(run: Run, is_readonly: bool) -> str:
    """Why nothing can be written about `run` from here; empty where it can."""
    if not run.folder.is_absolute():  # a name alone: that of a run on another machine
        return ELSEWHERE
    return READ_ONLY if is_readonly else ""


def note_dialog(run: Run, notes: RunNotes) -> EditDialog:
    def save(text: str) -> None:
        change_notes(run.folder, lambda notes: replace(notes, note=text))

    return EditDialog(f"note: {notes.name or run.id}", notes.note, save)


def tags_dialog(run: Run, notes: RunNotes) -> EditDialog:
    def save(text: str) -> None:
        wanted = [tag.removeprefix("#") for tag in re.split(r"[\s,]+", text.strip()) if tag]
        change_notes(run.folder, lambda notes: replace(notes, tags=()).with_tags(wanted))

    return EditDialog(f"tags: {notes.name or run.id}", " ".join(notes.tags), save)
