"""Records how a run was started: command line, commit, changes, versions."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..text.harmless import one_line
from ..text.masking import masked_arguments, masked_text
from .run_folder import DIFF_FILE, PACKAGES_FILE

GIT_WAIT_S = 2.0  # for the commit, and for its changes: a network disk may make git slow
MAX_DIFF_BYTES, MAX_UNTRACKED_BYTES = 100_000, 2_000
NO_MESSAGE = "git failed"  # without a message, for example if a key is not in its settings
CODE = ("commands", "shared", "trainer")  # the code that ranks run


def provenance(versions_of: Iterable[str]) -> dict[str, Any]:
    """The time, folder, command line, commit and versions of this process, for run.toml.
    `versions_of` are names of distributions; those that are not installed are left out.
    """
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "working_folder": _working_folder(),
        "command_line": shlex.join(masked_arguments(sys.argv)),
        "git_commit": _git_commit(time.monotonic() + GIT_WAIT_S).text or None,
        "versions": {
            "python": platform.python_version(),
            **{name: version for name in versions_of if (version := _version(name))},
        },
    }


def code_digest() -> str:
    """A short hash of the source files that train: two checkouts of one version may differ."""
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


class _Answer(NamedTuple):
    """The output of git, and the first line of its error."""

    text: str
    error: str = ""
    is_cut: bool = False


def what_ran() -> dict[str, bytes]:
    """Two files, by name: the changes of the working tree since its commit, without secrets, and
    all installed packages. Waits for git `GIT_WAIT_S` at most.
    """
    files = {PACKAGES_FILE: "".join(f"{line}\n" for line in _packages())}
    if (diff := _diff()) is not None:
        files[DIFF_FILE] = masked_text(diff)
    return {name: text.encode("utf-8", "replace") for name, text in files.items()}


def _diff() -> str | None:
    """A diff for `git apply`, with comments in front; None outside a repository."""
    until_s = time.monotonic() + GIT_WAIT_S
    commit = _git_commit(until_s)
    if "not a git repository" in commit.error:
        return None
    changes = commit
    programs = _git("config", "--show-scope", "--get-regexp", r"^filter\.", until_s=until_s)
    if re.search(r"^(local|worktree)\t", programs.text, re.MULTILINE):
        changes = _Answer("", "the configuration of this repository names filters, programs to run")
    elif programs.error not in ("", NO_MESSAGE):  # an old git cannot say whose they are
        changes = programs
    elif not commit.error:
        # Independent of the user's settings, and without the programs that they name. A submodule
        # has its own configuration, so its files are not read.
        changes = _git(
            *("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/"),
            *("--dst-prefix=b/", "--ignore-submodules=dirty", "HEAD", "--"),
            until_s=until_s,
        )
    if changes.error:
        return f"# not known: {changes.error}\n"
    untracked = _git(
        *("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory"),
        *("--full-name", ":/"),
        until_s=until_s,
        max_bytes=MAX_UNTRACKED_BYTES,
    )
    names = [*untracked.text.splitlines(), *(["..."] if untracked.is_cut else [])]
    comments = [f"# not in git: {untracked.error or ', '.join(names)}"]
    comments = comments if names or untracked.error else []
    comments += [f"# cut after {MAX_DIFF_BYTES:,} bytes"] if changes.is_cut else []
    comments += [] if changes.text else ["# no changes"]
    return "".join(f"{line}\n" for line in comments) + changes.text


def _git_commit(until_s: float) -> _Answer:
    """The commit of the working folder."""
    answer = _git("rev-parse", "HEAD", until_s=until_s)
    return answer._replace(text=answer.text.strip())


def _git(*arguments: str, until_s: float, max_bytes: int = MAX_DIFF_BYTES) -> _Answer:
    """Run git. Returns the complete lines of the first `max_bytes` of its output."""
    settings = ("core.fsmonitor=false", "core.quotePath=false", "diff.relative=false")
    command = ["git", *(part for setting in settings for part in ("-c", setting)), *arguments]
    # English errors, no lock that another git would wait for, and no fetching, which would run
    # programs that the repository names.
    env = {
        **os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }  # fmt: skip
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        return _Answer("", "git is not installed" if is_missing else f"git: {error.strerror}")
    assert process.stdout
    assert process.stderr
    data, piece = b"", b""
    waiting = select.poll()
    waiting.register(process.stdout)
    try:
        with process.stdout, process.stderr:
            while waiting.poll(1000 * max(0.0, until_s - time.monotonic())):
                piece = os.read(process.stdout.fileno(), 1 << 16)
                data += piece
                if not piece or len(data) > max_bytes:
                    break
            if len(data) > max_bytes:
                lines = data[:max_bytes].rpartition(b"\n")[0] + b"\n"
                return _Answer(lines.decode("utf-8", "replace"), is_cut=True)
            if process.wait(max(0.0, until_s - time.monotonic())):
                first = process.stderr.read(1000).decode("utf-8", "replace").partition("\n")[0]
                return _Answer("", one_line(first.removeprefix("fatal: ")) or NO_MESSAGE)
            return _Answer(data.decode("utf-8", "replace"))
    except subprocess.TimeoutExpired:
        return _Answer("", f"git takes longer than {GIT_WAIT_S:g} s")
    finally:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)  # a process that waits for a network disk does not end


def _packages() -> list[str]:
    """`name==version` of all installed packages, by the names of their folders, which is much
    faster than reading their metadata.
    """
    versions: dict[str, str] = {}
    for folder in filter(None, sys.path):
        with contextlib.suppress(OSError):
            for path in Path(folder).glob("*.dist-info"):
                name, _, version = path.stem.rpartition("-")
                versions.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return [f"{name}=={versions[name]}" for name in sorted(versions) if name]
