"""Whose files are believed: the user's own, root's, and in a run's folder those of its owner."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import PageError

Owners = frozenset[int]


def own() -> Owners:
    """This user, and root, who can do everything anyway."""
    return frozenset((0, os.getuid()))


def owners_of(folder: Path) -> Owners:
    """Who may have written the pages of the run in `folder`."""
    try:
        return own() | {folder.stat().st_uid}
    except OSError:
        return own()


def check_folder(folder: Path, owners: Owners) -> None:
    """Raises PageError where someone else could have put files into `folder`."""
    try:
        status = folder.lstat()
    except OSError as error:
        raise PageError(f"{folder}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
        raise PageError(f"{folder} belongs to another user: its pages are not read")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PageError(f"{folder} can be written by other users: its pages are not read")


def check_file(fd: int, owners: Owners) -> None:
    """Raises PageError where someone else wrote, or may write, the open file."""
    status = os.fstat(fd)
    if status.st_uid not in owners:
        raise PageError("it belongs to another user")
    has_name = status.st_nlink > 0  # one that only /proc leads to is nobody else's
    if has_name and status.st_mode & stat.S_IWOTH:
        raise PageError("it can be written by other users")
