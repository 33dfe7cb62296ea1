"""Opens folders of runs and pages, after checking that they can be trusted.

The user names the roots: $OPERANT_HOME and $OPERANT_PAGES, or their defaults. Links on the way to a
root are followed. Below a root no link is followed: every part of a path is opened from the
descriptor of the folder above it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from ..errors import PageError

Owners = frozenset[int]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
WRITE_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
ALL_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class RefusedError(PermissionError):
    """A folder is a link, belongs to another user or can be written by others. `strerror` says
    which, `filename` is the folder.
    """

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(errno.EACCES, reason, str(folder))

    def __str__(self) -> str:
        return f"{self.filename} {self.strerror}"


def this_user() -> Owners:
    """The owner of runs that may be written or deleted, or meant by `latest`."""
    return frozenset((os.getuid(),))


def own() -> Owners:
    """The owners whose pages and settings are read: this user, and root, who can do everything."""
    return this_user() | {0}


def owners_of(folder: Path) -> Owners:
    """The users who may have written the pages of the run in `folder`."""
    try:
        return own() | {folder.lstat().st_uid}
    except OSError:
        return own()


@contextlib.contextmanager
def opened_folder(
    folder: Path,
    owners: Owners | None = None,
    *,
    at: int | None = None,
    follow: bool = False,
    check_mode: bool = True,
) -> Iterator[int]:
    """Open `folder`, or the folder of that name in the descriptor `at`; gives its descriptor.

    Raises RefusedError if it is a link (unless `follow`), if none of `owners` owns it (None: anyone
    may), or if users other than its owner can write to it. Raises OSError if it cannot be opened.
    """
    path: Path | str = folder if at is None else folder.name
    try:
        fd = os.open(path, _FOLDER | (0 if follow else os.O_NOFOLLOW), dir_fd=at)
    except OSError as error:
        if _is_link(path, at):
            raise RefusedError(folder, "is a link, which is not followed") from None
        raise OSError(error.errno, error.strerror, str(folder)) from None
    try:
        status = os.fstat(fd)
        if owners is not None and status.st_uid not in owners:
            raise RefusedError(folder, f"belongs to another user, {user_name(status.st_uid)}")
        if check_mode and status.st_mode & WRITE_OF_OTHERS:
            raise RefusedError(folder, f"can be written by other users: `chmod go-w {folder}`")
        yield fd
    finally:
        os.close(fd)


def _is_link(path: Path | str, at: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(path, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def opened_parent(path: Path, beneath: Path) -> Iterator[int]:
    """Open the folder of `path` without following a link below `beneath`, which is above it; gives
    its descriptor. Raises OSError.
    """
    with contextlib.ExitStack() as opened:
        fd = opened.enter_context(opened_folder(beneath, check_mode=False))
        for folder in reversed(path.relative_to(beneath).parents[:-1]):
            fd = opened.enter_context(opened_folder(beneath / folder, at=fd, check_mode=False))
        yield fd


def is_own(path: Path) -> bool:
    """Whether this user owns the file at `path`, and it is not a link."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not stat.S_ISLNK(status.st_mode)


def is_own_folder(folder: Path) -> bool:
    """Whether `folder` is a real folder of this user that nobody else can write to."""
    try:
        with opened_folder(folder, this_user()):
            return True
    except OSError:
        return False


def make_private_folder(
    folder: Path, forbidden: int = WRITE_OF_OTHERS, *, parents: bool = True
) -> None:
    """Create `folder` for this user alone, whatever the umask. An existing one loses the rights of
    others in `forbidden`. Without `parents`, the folder above must exist: the folder of a deleted
    run does not come back. Raises RefusedError if `folder` is a link or another user's, and
    OSError.
    """
    if parents:
        folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    except FileExistsError:
        pass
    with opened_folder(folder, this_user(), check_mode=False) as fd:
        forbid(fd, folder, forbidden)


def forbid(fd: int, folder: Path, forbidden: int) -> None:
    """Remove the rights in `forbidden` from an open folder of this user. Raises RefusedError if
    others can still write to it, because the file system has no modes, or if it is sticky, as /tmp
    is: all users need their rights there.
    """
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & stat.S_ISVTX and mode & forbidden:
        raise RefusedError(folder, "is shared by all users (sticky): name a folder inside it")
    if mode & forbidden:
        os.fchmod(fd, mode & ~forbidden)
    if os.fstat(fd).st_mode & forbidden & WRITE_OF_OTHERS:
        raise RefusedError(folder, "can be written by other users, and its mode cannot be changed")


def check_file(fd: int, owners: Owners) -> None:
    """Raises PageError if another user wrote, or may write, the open file."""
    status = os.fstat(fd)
    if status.st_uid not in owners:
        raise PageError(f"it belongs to another user, {user_name(status.st_uid)}")
    has_name = status.st_nlink > 0  # no other user reaches a file without a name
    if has_name and status.st_mode & WRITE_OF_OTHERS:
        raise PageError("it can be written by other users")


def user_name(uid: int) -> str:
    """`mallory (1001)`; the number alone if it has no name on this machine."""
    try:
        return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return str(uid)
