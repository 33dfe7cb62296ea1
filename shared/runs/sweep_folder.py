"""Sweeps on disk: one folder per sweep, with its name. `docs/sweep.md` lists the files in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from ..errors import RunFolderError, SweepNotFoundError, UsageError
from ..processes.lock import lock_holder
from ..text.harmless import one_line
from .run_folder import FileIn, folders_in, home_folder, make_home
from .small_file import read_json, write_whole
from .sweep_table import SweepTable

MAX_TABLE_BYTES = 64 << 20
MAX_NAME = 24  # the room in a run's id, with the trial and the seed after it
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{MAX_NAME - 1}}}")

SweepState = Literal["running", "finished", "interrupted"]


def sweeps_folder() -> Path:
    return home_folder() / "sweeps"


class Sweep:
    """A sweep, identified by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"Sweep({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sweep) and other.folder == self.folder

    def __hash__(self) -> int:
        return hash(self.folder)

    @property
    def name(self) -> str:
        return self.folder.name

    definition_path = FileIn("sweep.toml")  # what is searched
    config_path = FileIn("config.toml")  # what all trials begin with, where the user named a file
    journal_path = FileIn("journal.log")  # all that happened, written by Optuna: the truth
    table_path = FileIn("table.json")  # the result so far, for readers; written after every change
    log_path = FileIn("sweep.log")  # what a sweep in the background printed
    lock_path = FileIn("lock")  # a kernel lock, held by the process that runs the sweep

    def table(self) -> SweepTable:
        """The results so far. Raises RunFolderError if they cannot be read."""
        try:
            return SweepTable.of_json(read_json(self.table_path, MAX_TABLE_BYTES, self.folder))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or one_line(str(error), 200)
            raise RunFolderError(f"{self.table_path} cannot be read: {reason}") from None

    def write_table(self, data: bytes) -> None:
        write_whole(self.table_path, data)

    def is_held(self) -> bool:
        """Whether a process runs the sweep."""
        try:
            return lock_holder(self.lock_path) is not None
        except OSError:  # a file system without locks
            return False

    def state(self, table: SweepTable) -> SweepState:
        return "running" if self.is_held() else self.state_when_free(table)

    def state_when_free(self, table: SweepTable) -> SweepState:
        """The state if no other process runs the sweep."""
        return "finished" if table.is_complete else "interrupted"


def list_sweeps() -> list[Sweep]:
    """All sweeps, the one that was started or resumed last first."""
    folders = [folder for folder in folders_in(sweeps_folder()) if _NAME.fullmatch(folder.name)]
    return [Sweep(folder) for folder in sorted(folders, key=_begun, reverse=True)]


def find_sweep(wanted: str) -> Sweep:
    """The sweep that `wanted` names, by its name or a part that no other has.

    Raises SweepNotFoundError, which names existing ones.
    """
    sweeps = list_sweeps()
    if not sweeps:
        raise SweepNotFoundError(f"no sweeps in {sweeps_folder()} yet; `operant sweep` starts one")
    matches = [sweep for sweep in sweeps if sweep.name == wanted] or [
        sweep for sweep in sweeps if wanted in sweep.name
    ]
    if len(matches) == 1:
        return matches[0]
    shown = matches or sweeps
    few = ", ".join(sweep.name for sweep in shown[:4]) + (", ..." if len(shown) > 4 else "")
    if matches:
        raise SweepNotFoundError(f"'{wanted}' matches {len(matches)} sweeps: {few}")
    raise SweepNotFoundError(f"no sweep is called '{wanted}'; there are {few}")


def new_sweep(name: str) -> Sweep:
    """Create the folder of a sweep. Raises UsageError if the name is not valid or taken, and
    RunFolderError if the folder cannot be created.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name}: {MAX_NAME} letters, digits, '_', '-' and '.' at most, the first a "
            "letter or a digit"
        )
    sweep = Sweep(sweeps_folder() / name)
    try:
        make_home(sweeps_folder())
        sweep.folder.mkdir(mode=0o700)
    except FileExistsError:
        raise UsageError(
            f"a sweep is called {name} already: `operant sweep --resume {name}` goes on with it, "
            "--name begins another"
        ) from None
    except OSError as error:
        raise RunFolderError(f"cannot write {sweep.folder}: {error.strerror}") from None
    return sweep


def free_name(wanted: str) -> str:
    """A valid name for a sweep, like `wanted`, with a number appended if it is taken."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", wanted).strip("-._") or "sweep"
    for number in range(1, 1_000_000):
        end = f"-{number}" if number > 1 else ""
        name = stem[: MAX_NAME - len(end)] + end
        if not (sweeps_folder() / name).exists():
            return name
    raise UsageError("too many sweeps have this name; choose another with --name")


def _begun(folder: Path) -> int:
    try:
        return (folder / "lock").lstat().st_mtime_ns
    except OSError:
        return 0
