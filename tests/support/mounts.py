"""File systems of a test's own: small, full, or closed to writing."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def tmpfs(folder: Path, size: str) -> Iterator[Path]:
    """A real tmpfs of `size` at `folder`; skips the test where mounting is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", "-R", str(folder)], check=True)


def close_to_writing(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def cover_by_read_only(folder: Path) -> None:
    """Hide the files of `folder` and refuse writes, until it is unmounted.

    A file system on which a file is open for writing cannot be closed to writing as a whole.
    """
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=0700", "tmpfs", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leave no byte free."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size_bytes in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size_bytes))
    assert os.statvfs(folder).f_bavail == 0
