"""Runs on disk: one folder each, named so that people can read and sort them."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs
import tomli_w

from .errors import RunFolderError
from .harmless import harmless_toml, one_line
from .lock import LAUNCHER, RunLock
from .masking import masked
from .page_file import page_folder
from .plain_values import plain
from .run_notes import MANIFEST_FILE, MAX_MANIFEST_BYTES, NOTES_FILE, RunNotes, read_notes
from .small_file import read_toml, write_whole

MAX_RANKS = LAUNCHER  # each has a byte of the lock below the launcher's
MAX_RANK_FILES = 1 << 13
_KINDS: dict[str, type] = {"config": dict, "summary": dict, "resumed": list}
_NAME_LETTERS, _FIRST_LETTERS = 40, 12  # of a run's name in its id; of those, from its beginning
_TAIL_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # none that look alike
TRACE_ENDING, EPISODE_ENDING = ".trace.json", ".episode.gz"


def home_folder() -> Path:
    """$OPERANT_HOME, or the platform's folder for a user's state; absolute, as a loop may change
    its working directory.
    """
    chosen = os.environ.get("OPERANT_HOME")
    return Path(chosen).absolute() if chosen else platformdirs.user_state_path("operant")


def runs_folder() -> Path:
    return home_folder() / "runs"


class Run:
    """A run by its folder. What lies in it: see `docs/runs.md`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"Run({self.id})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and other.folder == self.folder

    def __hash__(self) -> int:
        return hash(self.folder)

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def manifest_path(self) -> Path:
        return self.folder / MANIFEST_FILE

    @property
    def notes_path(self) -> Path:
        """What people write about the run."""
        return self.folder / NOTES_FILE

    @property
    def lock_path(self) -> Path:
        return self.folder / "lock"

    @property
    def log_path(self) -> Path:
        """Standard output and error of a detached trainer."""
        return self.folder / "train.log"

    @property
    def checkpoint_folder(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def trace_folder(self) -> Path:
        """Traces of single iterations, `*TRACE_ENDING`."""
        return self.folder / "traces"

    @property
    def episode_folder(self) -> Path:
        """Episodes that were played on the way, `*EPISODE_ENDING`."""
        return self.folder / "episodes"

    @property
    def weights_path(self) -> Path:
        """A line of JSON for every analysis of the weights."""
        return self.folder / "weights.jsonl"

    def metrics_path(self, rank: int = 0) -> Path:
        """The rows that the recorder keeps of a rank."""
        return self.folder / ("metrics.csv" if rank == 0 else f"metrics.{rank}.csv")

    def rows_path(self, rank: int = 0) -> Path:
        """Every row of a rank, kept by the recorder."""
        return self.folder / ("rows.sqlite" if rank == 0 else f"rows.{rank}.sqlite")

    @property
    def events_path(self) -> Path:
        """The messages of all ranks, kept by the recorder."""
        return self.folder / "events.log"

    @property
    def told_path(self) -> Path:
        """A line for each thing that a command or a webhook of the user's was told."""
        return self.folder / "told.log"

    @property
    def recorder_log_path(self) -> Path:
        """What the recorder of a run has to complain about."""
        return self.folder / "recorder.log"

    @property
    def recording_path(self) -> Path:
        """An empty file, there as long as the recorder has not written all of the run."""
        return self.folder / "recording"

    def page_copy_path(self, rank: int = 0) -> Path:
        """Where the last copy of a page lies once its process is gone."""
        return self.folder / ("page" if rank == 0 else f"page.{rank}")

    def rank_path(self, rank: int) -> Path:
        """Where a rank says which process it is and where its page lies."""
        return self.folder / "ranks" / f"{rank}.json"

    def rank_log_path(self, rank: int) -> Path:
        """What a rank said that the run's own command started, but rank 0's."""
        return self.folder / "ranks" / f"{rank}.log"

    def ranks(self) -> list[int]:
        """The ranks that have come to be, lowest first; rank 0 is always among them."""
        try:
            with os.scandir(self.folder / "ranks") as entries:
                names = [entry.name for entry in itertools.islice(entries, MAX_RANK_FILES)]
        except OSError:
            return [0]
        matches = (re.fullmatch(r"(0|[1-9][0-9]{0,6})\.json", name) for name in names)
        found = {int(match[1]) for match in matches if match}
        return sorted({0, *(rank for rank in found if rank < MAX_RANKS)})

    def forget_other_ranks(self) -> None:
        """Have rank 0 be the only one, until others say where their pages are."""
        for rank in self.ranks()[1:]:
            with contextlib.suppress(OSError):
                self.rank_path(rank).unlink(missing_ok=True)

    def manifest(self) -> dict[str, Any]:
        """The contents of run.toml; empty when it is missing or broken."""
        try:
            return self.read_manifest()
        except RunFolderError:
            return {}

    def manifest_written(self) -> tuple[int, int] | None:
        """Another one each time that run.toml is written; None where there is none."""
        try:
            status = self.manifest_path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def read_manifest(self) -> dict[str, Any]:
        """The contents of run.toml, for who writes it anew; empty where there is none. Raises
        RunFolderError with the reason when there is one that cannot be read.
        """
        try:
            manifest = read_toml(self.manifest_path, MAX_MANIFEST_BYTES)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or one_line(str(error), 200)
            raise RunFolderError(f"{self.manifest_path} cannot be read: {reason}") from None
        for key, kind in _KINDS.items():
            if not isinstance(manifest.get(key, kind()), kind):
                what = f"{key} is no {kind.__name__}"
                raise RunFolderError(f"{self.manifest_path} cannot be read: {what}")
        return manifest

    def notes(self) -> RunNotes:
        """What people wrote about the run; see `run_notes`."""
        return read_notes(self.folder)

    @property
    def name(self) -> str:
        """The name that is shown: one that people gave it, else its id."""
        return self.notes().name or self.id

    def oddity(self) -> str:
        """What is odd about the files that every look at a run needs; empty when nothing is."""
        for path in (self.manifest_path, self.lock_path):
            try:
                if not stat.S_ISREG(path.stat().st_mode):
                    return f"{path.name}: not a regular file"
            except FileNotFoundError:
                continue
            except OSError as error:
                return f"{path.name}: {error.strerror}"
        return ""

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write run.toml: any value as TOML has it, what is secret masked, see `masking`."""
        text = harmless_toml(tomli_w.dumps(masked(plain(manifest))))
        write_whole(self.manifest_path, text.encode())


def memory_runs_folder() -> Path:
    """Where runs of this home have their folders whose disk took nothing when they began."""
    home = zlib.crc32(os.fsencode(os.path.abspath(runs_folder())))
    return page_folder() / f"runs-{home:08x}"


def create_run(
    name: str,
    manifest: Mapping[str, Any],
    *,
    rank: int,
    parent: Path | None = None,
    run_id: str = "",
) -> tuple[Run, RunLock]:
    """Make a run folder in `parent`, by default `runs_folder()`, and take the lock of `rank` in it.
    Its id is made of the `name`, unless it has a `run_id` already.

    The folder gets its name last, so that no run is ever seen without its manifest and its lock.
    Raises RunFolderError when the folder cannot be written; nothing is left of it then.
    """
    parent = parent or runs_folder()
    run_id = run_id or make_run_id(name)
    building = Run(parent / f".{run_id}.building")
    lock = None
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        building.folder.mkdir(mode=0o700)
        (building.folder / "ranks").mkdir(mode=0o700)
        building.write_manifest({"id": run_id, "name": name, **manifest})
        lock = RunLock(building.lock_path, rank)
        return Run(building.folder.rename(parent / run_id)), lock
    except BaseException as error:
        if lock:
            lock.release()
        shutil.rmtree(building.folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise RunFolderError(f"cannot write runs to {parent}: {error.strerror}") from None
        raise


def make_run_id(name: str) -> str:
    """`20261121-142530-cart_pole-ppo-k3f9`: when (UTC), what, and four letters against chance."""
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "run"
    if len(words) > _NAME_LETTERS:  # the end tells runs of a sweep apart
        words = f"{words[:_FIRST_LETTERS]}..{words[2 + _FIRST_LETTERS - _NAME_LETTERS :]}"
    tail = "".join(secrets.choice(_TAIL_LETTERS) for _ in range(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{words}-{tail}"


def name_in(run_id: str) -> str:
    """That of `make_run_id`, as far as it fits in."""
    return run_id[len("20261121-142530-") : -len("-k3f9")]
