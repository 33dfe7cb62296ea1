"""Errors with a text of one line for the user: the key, the value, the rule."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable

from .text.harmless import harmless
from .text.plain_values import described, text_of


class OperantError(Exception):
    """The base of all errors; the command line prints the text and exits with `exit_code`."""

    exit_code = 1

    def __str__(self) -> str:
        return harmless(super().__str__())


class UsageError(OperantError):
    """An argument, a file or a folder of the user is not valid."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration is not valid: the text names the key, the value and the rule."""


class NotHereError(ConfigError):
    """A file, folder or `module` that a configuration names does not exist, seen from the working
    folder.
    """

    def __init__(self, text: str, module: str = "") -> None:
        super().__init__(text)
        self.module = module


class RunNotFoundError(UsageError):
    """No run, or more than one, has the name that the user gave."""


class SweepNotFoundError(UsageError):
    """No sweep, or more than one, has the name that the user gave."""


class RunFolderError(UsageError):
    """A run folder cannot be created, read or written."""


class CheckpointError(UsageError):
    """A checkpoint is missing, broken or of another configuration."""


class PageError(OperantError):
    """A page cannot be read: missing, short, foreign, damaged or of another major version."""


class NoPageError(PageError):
    """A run has no page yet, or none any more."""


class NoRoomError(PageError):
    """A page cannot be created; the text says how much room it needs and how much there is."""


class RowFileError(PageError):
    """A file of rows cannot be read or written."""


def check_argument(name: str, given: object, types: type | tuple[type, ...], expected: str) -> None:
    """Raises UsageError unless the argument `name` is of one of `types`. True and False are not
    numbers.
    """
    is_bool = isinstance(given, bool)
    if not isinstance(given, types) or (is_bool and types is not bool):
        raise UsageError(f"{name} = {described(given)}: expected {expected}")


def made_by(version: str) -> str:
    """The message about a file whose format this version does not read."""
    return f"made by operant {version}, which reads it"


class TracebackOption:
    """Whether the command was given `--traceback`; None for commands without that option."""

    is_given: bool | None = None


def explained(error: OperantError) -> tuple[str, str]:
    """A traceback, empty without --traceback, and the text of an error. The traceback is that of an
    error in the user's code that caused this one; without the option the text names it.
    """
    cause, text = error.__cause__, text_of(error)
    if cause is None or isinstance(cause, OperantError) or TracebackOption.is_given is None:
        return "", text
    if not TracebackOption.is_given:
        return "", f"{text} (--traceback shows where)"
    return "".join(traceback.format_exception(cause)), text


def nearest(word: str, known: Iterable[str], most: int = 1) -> str:
    """`; did you mean 'a' or 'b'?`, to append to an error, with up to `most` similar known words;
    empty if there are none.
    """
    matches = [f"'{match}'" for match in difflib.get_close_matches(word, list(known), n=most)]
    *others, last = matches or [""]
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""
