"""What tells later how a run came to be."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..text.masking import masked_arguments

CODE = ("commands", "shared", "trainer")  # what a rank runs


def provenance(versions_of: Iterable[str]) -> dict[str, Any]:
    """When, where, by which command line, of which commit and versions; of `versions_of`, names of
    distributions, those that are installed.
    """
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "working_folder": _working_folder(),
        "command_line": shlex.join(masked_arguments(sys.argv)),
        "git_commit": _git_commit(),
        "versions": {
            "python": platform.python_version(),
            **{name: version for name in versions_of if (version := _version(name))},
        },
    }


def code_digest() -> str:
    """A short word for operant's own source files, all but those that only show: two checkouts of
    one version may differ.
    """
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for side in CODE for path in root.glob(f"{side}/**/*.py")):
        lines = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(root).as_posix()} {len(lines)}\n".encode() + lines)
    return digest.hexdigest()[:12]


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _git_commit() -> str | None:
    """The commit checked out in the working folder; None outside a repository."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
