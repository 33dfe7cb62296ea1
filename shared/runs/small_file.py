"""Reads and writes small files safely: a run folder may have been copied from anywhere."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ..text.plain_values import MAX_INTEGER_BITS
from .owners import opened_parent

MAX_DEPTH = 64  # of tables and lists within each other
MAX_KEY_PARTS = 100
BUILDING = ".building-"  # begins the names of files that are being written

# Strings and comments. One without an end goes on to the end of its line, or of the text: no
# alternative fails, so that a text is searched in a time that grows with its length.
_STRINGS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""(?!")|\Z)|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'''.*?(?:'''(?!')|\Z)|'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)
_ENDS_OF_KEYS = re.compile(r"[,=\[\]{}\n]")

Parsed = TypeVar("Parsed")


def open_regular(path: Path, beneath: Path | None = None) -> int:
    """Open the regular file at `path` for reading; returns its descriptor. Follows links, but none
    below the folder `beneath`, if that is given.

    Raises OSError if it is no regular file: opening a FIFO would wait for its writer, and reading a
    device may never end.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
    if beneath is None:
        _check_regular(os.stat(path), path)  # a device may do something when it is opened
        return _opened(path, flags)
    with opened_parent(path, beneath) as folder:
        _check_regular(os.stat(path.name, dir_fd=folder, follow_symlinks=False), path)
        return _opened(path, flags, folder)


def open_to_append(path: Path) -> int:
    """Open, or create, the regular file at `path` for appending; returns its descriptor.

    Raises OSError, also if the file or its folder is a link, which could point to any of the user's
    files.
    """
    with opened_parent(path, path.parent) as folder:
        return _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, folder)


def open_to_change(path: Path) -> int:
    """Open like `open_to_append`, for reading and writing anywhere in the file. Raises OSError."""
    with opened_parent(path, path.parent) as folder:
        return _opened(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, folder)


def create_anew(path: Path) -> int:
    """Create a file at `path` for writing; returns its descriptor. An existing file or link is
    deleted first. Raises OSError, also if the folder is a link.
    """
    with opened_parent(path, path.parent) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        return _opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder)


@contextlib.contextmanager
def replacing(path: Path, *, by_several: bool = False) -> Iterator[Path]:
    """A name for a file that takes the place of `path` in one step once the block has written it.
    If the block fails, the old file stays. `by_several`: other processes may do the same now.
    """
    name = f"{os.getpid()}-{path.name}" if by_several else path.name
    building = path.with_name(BUILDING + name)
    try:
        yield building
        building.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            building.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def written_whole(
    path: Path, *, by_several: bool = False, outlives_power_cut: bool = True
) -> Iterator[BinaryIO]:
    """A file to write to which takes the place of `path`, see `replacing`. With
    `outlives_power_cut`, waits for the disk, so that a power cut leaves no half of it either.
    """
    with (
        replacing(path, by_several=by_several) as building,
        os.fdopen(create_anew(building), "wb") as file,
    ):
        yield file
        if outlives_power_cut:
            file.flush()
            os.fsync(file.fileno())  # the name may be on the disk before what was written


def write_whole(path: Path, data: bytes, *, outlives_power_cut: bool = True) -> None:
    """Write a file so that readers see the old or the new one, never half of it, also with several
    writers. Raises OSError, and the old file stays.
    """
    with written_whole(path, by_several=True, outlives_power_cut=outlives_power_cut) as file:
        file.write(data)


def read_small(path: Path, limit_bytes: int, beneath: Path | None = None) -> bytes:
    """The contents of the regular file at `path`, see `open_regular`. Raises OSError if it is not
    regular, cannot be read or has more than `limit_bytes`.
    """
    fd = open_regular(path, beneath)
    try:
        # Count the bytes that are read: files of /proc have no size.
        pieces, left = [], limit_bytes + 1
        while left and (piece := os.read(fd, min(left, 1 << 16))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(fd)
    if not left:
        raise OSError(errno.EFBIG, f"more than {limit_bytes} bytes", str(path))
    return b"".join(pieces)


def read_toml(path: Path, limit_bytes: int, beneath: Path | None = None) -> dict[str, Any]:
    """The table in the small file at `path`. Raises OSError, or ValueError if it is not TOML in
    UTF-8, nests deeper than `MAX_DEPTH` or has an integer that is too large for a float.
    """
    text = read_small(path, limit_bytes, beneath).decode("utf-8")
    return bounded(lambda: toml_table(text))


def toml_table(text: str) -> dict[str, Any]:
    """Parse a TOML text. Raises ValueError if it is not valid, or has a key of more than
    `MAX_KEY_PARTS` parts: the memory to read it grows with the square of their number.
    """
    keys = _ENDS_OF_KEYS.split(_STRINGS.sub("", text))
    if any(key.count(".") >= MAX_KEY_PARTS for key in keys):
        raise ValueError(f"a key has more than {MAX_KEY_PARTS} parts")
    return tomllib.loads(text)


def read_json(path: Path, limit_bytes: int, beneath: Path | None = None) -> Any:
    """Like `read_toml`, for JSON."""
    data = read_small(path, limit_bytes, beneath)
    return bounded(lambda: json.loads(data))


def _opened(path: Path, flags: int, folder: int | None = None) -> int:
    """Open the regular file at `path`; with the descriptor of its `folder`, the file of that name
    there, which must not be a link.
    """
    if folder is None:
        fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
    else:
        fd = os.open(path.name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        _check_regular(os.fstat(fd), path)
    except OSError:
        os.close(fd)
        raise
    return fd


def bounded(parse: Callable[[], Parsed]) -> Parsed:
    """The result of `parse`. Raises ValueError if it nests deeper than `MAX_DEPTH`, or has an
    integer so large that printing or comparing it raises.
    """
    try:
        parsed = parse()
    except RecursionError:
        raise ValueError(f"it nests deeper than {MAX_DEPTH}") from None
    level: list[Any] = [parsed]
    for _ in range(MAX_DEPTH):
        if any(isinstance(v, int) and v.bit_length() > MAX_INTEGER_BITS for v in level):
            raise ValueError(f"it has a whole number of more than {MAX_INTEGER_BITS} bits")
        level = [inner for value in level for inner in _parts(value)]
        if not level:
            return parsed
    raise ValueError(f"it nests deeper than {MAX_DEPTH}")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _check_regular(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
