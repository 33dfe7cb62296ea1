"""The user's notes about a run: a name to show, a note, tags, and whether lists leave it out.

They are in `notes.toml` in the run's folder, apart from the files that the run itself writes. Tags
and a note that a loop gave when it began (`init(tags=..., notes=...)`) are in run.toml, and hold
until the user changes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from ..errors import RunFolderError, UsageError
from ..text.harmless import harmless_toml, one_line
from .owners import opened_folder, this_user
from .small_file import read_small, read_toml, toml_table, write_whole

NOTES_FILE, MANIFEST_FILE = "notes.toml", "run.toml"
MAX_NOTES_BYTES, MAX_MANIFEST_BYTES = 1 << 16, 1 << 20
MAX_NAME_CHARACTERS, MAX_NOTE_CHARACTERS, MAX_TAG_CHARACTERS, MAX_TAGS = 80, 1000, 50, 50

_TAG = re.compile(r"\w[\w.+/@=#~-]*")
_TAG_RULE = "a word of letters, digits and ._+/@=#~-"


@dataclass(frozen=True)
class RunNotes:
    """A user's notes. `name` is shown in place of the run's id; empty if it has none."""

    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    is_archived: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "note": self.note,
            "tags": list(self.tags),
            "archived": self.is_archived,
        }

    def has_tag(self, tag: str) -> bool:
        """Whether the run has a tag, in upper or lower case."""
        return tag.lower() in (known.lower() for known in self.tags)

    def with_tags(self, tags: Iterable[str]) -> RunNotes:
        """Notes with `tags` added."""
        new = [tag for tag in dict.fromkeys(tags) if not self.has_tag(tag)]
        return replace(self, tags=(*self.tags, *new))

    def without_tags(self, tags: Iterable[str]) -> RunNotes:
        gone = {tag.lower() for tag in tags}
        return replace(self, tags=tuple(tag for tag in self.tags if tag.lower() not in gone))


NO_NOTES = RunNotes()


def read_notes(folder: Path) -> RunNotes:
    """The notes about the run in `folder`. Raises nothing: unreadable parts are left out, and
    control characters are removed.
    """
    return _notes_of(_notes_in_manifest(folder) | _table(folder / NOTES_FILE))


def change_notes(folder: Path, change: Callable[[RunNotes], RunNotes]) -> RunNotes:
    """Apply `change` to the notes about the run in `folder` and write them, under a lock. Returns
    the new notes. Raises RunFolderError, and UsageError if they are not valid.
    """
    path = folder / NOTES_FILE
    try:
        with _alone_in(folder):
            table = _table_to_change(path)
            in_manifest = _notes_in_manifest(folder)
            before = _notes_of(in_manifest | table)
            notes = checked(change(before), before)
            defaults = _notes_of(in_manifest).as_json()
            for key, value in notes.as_json().items():
                table.pop(key, None)
                if value != defaults[key]:
                    table[key] = value
            if table:
                write_whole(path, harmless_toml(tomli_w.dumps(table)).encode())
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror}") from None
    return notes


def checked(notes: RunNotes, before: RunNotes = NO_NOTES) -> RunNotes:
    """`notes` with normalised spaces. Raises UsageError if they are not valid; a name and tags that
    the run had `before` are accepted.
    """
    name, note = " ".join(notes.name.split()), " ".join(notes.note.split())
    if name != before.name:
        check_name(name)
    _check_text("a note", note, MAX_NOTE_CHARACTERS)
    for tag in notes.tags:
        if tag not in before.tags:
            check_tag(tag)
    if len(notes.tags) > MAX_TAGS:
        raise UsageError(f"a run has up to {MAX_TAGS} tags, and would have {len(notes.tags)}")
    return replace(notes, name=name, note=note)


def check_name(name: str) -> None:
    """Raises UsageError if `name` is not a valid name of a run: a slash would mean a folder, a
    colon a run on another machine.
    """
    _check_text("a name", name, MAX_NAME_CHARACTERS)
    if name.startswith("-") or ":" in name or "/" in name:
        raise UsageError(
            f"'{name}' is not a valid name: it must not begin with - or contain a colon or a slash"
        )


def _check_text(what: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise UsageError(f"{what} may have up to {limit} characters, this one has {len(text)}")
    if not text.isprintable():
        raise UsageError(f"{what} must be plain text, without control characters")


def check_tag(tag: str) -> None:
    """Raises UsageError if `tag` is not a valid tag."""
    if len(tag) > MAX_TAG_CHARACTERS:
        raise UsageError(
            f"a tag may have up to {MAX_TAG_CHARACTERS} characters, this one has {len(tag)}"
        )
    if not _TAG.fullmatch(tag):
        raise UsageError(f"'{one_line(tag, 60)}' is not a valid tag: {_TAG_RULE}")


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock against other writers of notes, if the file system has such locks. Raises OSError
    if the folder is not this user's.
    """
    with opened_folder(folder, this_user()) as fd:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def _table_to_change(path: Path) -> dict[str, Any]:
    """The table in the file, with keys that this version may not know. Raises RunFolderError if it
    cannot be read: users may have edited it. A link is not followed; it will be replaced.
    """
    if path.is_symlink():
        return {}
    try:
        return read_toml(path, MAX_NOTES_BYTES, path.parent)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or one_line(str(error), 200)
        raise RunFolderError(f"{path} cannot be read, so it is not overwritten: {reason}") from None


def _table(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path, MAX_NOTES_BYTES, path.parent)
    except (OSError, ValueError):
        return {}


def _notes_in_manifest(folder: Path) -> dict[str, Any]:
    """Tags and note of run.toml. Most files have none, and need not be parsed to see that."""
    try:
        data = read_small(folder / MANIFEST_FILE, MAX_MANIFEST_BYTES, folder)
        if b"tags = " not in data and b"notes = " not in data:
            return {}
        values = toml_table(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {
        key: values[kept] for key, kept in (("tags", "tags"), ("note", "notes")) if kept in values
    }


def _notes_of(values: Mapping[str, Any]) -> RunNotes:
    """The valid values of a file: anyone may have written it."""
    tags = values.get("tags")
    listed = tags[:MAX_TAGS] if isinstance(tags, list) else []
    words = [_text(tag, MAX_TAG_CHARACTERS) for tag in listed]
    return RunNotes(
        _text(values.get("name"), MAX_NAME_CHARACTERS),
        _text(values.get("note"), MAX_NOTE_CHARACTERS),
        tuple(dict.fromkeys("_".join(word.split()) for word in words if word)),
        values.get("archived") is True,
    )


def _text(value: Any, limit: int) -> str:
    return one_line(value, limit) if isinstance(value, str) else ""
