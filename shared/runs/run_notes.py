"""What people write about a run: a name to show, a note, tags, and whether lists leave it out.

It stands in `notes.toml` in the run's folder, so that what the run itself writes is never touched.
A loop of one's own may have said tags and a note when it began (`init(tags=..., notes=...)`), in
run.toml: they hold until people say others.
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
    """`name` is shown in place of the run's id; empty where it has none of its own."""

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
        """Whatever its case."""
        return tag.lower() in (own.lower() for own in self.tags)

    def with_tags(self, tags: Iterable[str]) -> RunNotes:
        """Those it has, and `tags` behind them."""
        new = [tag for tag in dict.fromkeys(tags) if not self.has_tag(tag)]
        return replace(self, tags=(*self.tags, *new))

    def without_tags(self, tags: Iterable[str]) -> RunNotes:
        gone = {tag.lower() for tag in tags}
        return replace(self, tags=tuple(tag for tag in self.tags if tag.lower() not in gone))


NO_NOTES = RunNotes()


def read_notes(folder: Path) -> RunNotes:
    """What is written about the run in `folder`. Raises nothing: what cannot be read is left out,
    and what a terminal would obey is made harmless.
    """
    return _notes_of(_told_by_run(folder) | _table(folder / NOTES_FILE))


def change_notes(folder: Path, change: Callable[[RunNotes], RunNotes]) -> RunNotes:
    """Write what `change` makes of the notes about the run in `folder`, whole or not at all, one
    writer after the other. Returns them. Raises RunFolderError, UsageError where they do not hold.
    """
    path = folder / NOTES_FILE
    try:
        with _alone_in(folder):
            table = _table_to_change(path)
            own = _notes_of(_told_by_run(folder))
            before = _notes_of(_told_by_run(folder) | table)
            notes = checked(change(before), before)
            said = own.as_json()
            for key, value in notes.as_json().items():
                table.pop(key, None)
                if value != said[key]:
                    table[key] = value
            if table:
                write_whole(path, harmless_toml(tomli_w.dumps(table)).encode())
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror}") from None
    return notes


def checked(notes: RunNotes, before: RunNotes = NO_NOTES) -> RunNotes:
    """`notes` as they are kept. Raises UsageError, one line, for what cannot be; what was there
    `before` may stay.
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
    """Raises UsageError if it is not a valid name of a run: a slash makes a folder of it, a colon a
    run on another machine.
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
    """Raises UsageError if it is not a valid tag."""
    if len(tag) > MAX_TAG_CHARACTERS:
        raise UsageError(
            f"a tag may have up to {MAX_TAG_CHARACTERS} characters, this one has {len(tag)}"
        )
    if not _TAG.fullmatch(tag):
        raise UsageError(f"'{one_line(tag, 60)}' is not a valid tag: {_TAG_RULE}")


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While no other writer of notes is; where the file system has locks of this kind. Raises
    OSError where the folder is not this user's.
    """
    with opened_folder(folder, this_user()) as fd:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def _table_to_change(path: Path) -> dict[str, Any]:
    """What stands there, with keys that only a newer operant knows. Raises RunFolderError where it
    cannot be read: people may have written in it. A link is replaced, and nothing is read by it.
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


def _told_by_run(folder: Path) -> dict[str, Any]:
    """Tags and note of run.toml. Few have any, and most files need not be parsed to see that."""
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
    """What of a file is as it should be: anyone may have written it."""
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
