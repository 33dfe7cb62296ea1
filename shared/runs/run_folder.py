"""Runs on disk: one folder per run, with a readable, sortable name."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs
import tomli_w

from ..errors import RunFolderError, made_by
from ..page.page_file import page_folder
from ..processes.lock import TRAINER, RunLock
from ..text.harmless import harmless_toml, one_line
from ..text.masking import masked
from ..text.plain_values import plain
from .owners import (
    ALL_OF_OTHERS,
    WRITE_OF_OTHERS,
    Owners,
    RefusedError,
    forbid,
    is_own_folder,
    make_private_folder,
    opened_folder,
    this_user,
)
from .run_notes import MANIFEST_FILE, MAX_MANIFEST_BYTES, NOTES_FILE, RunNotes, read_notes
from .small_file import read_small, read_toml, write_whole

RUN_FORMAT = 2  # of run.toml and the files beside it; 0.1 to 0.3 wrote none
_KINDS: dict[str, type] = {"config": dict, "summary": dict, "resumed": list}
_NAME_LETTERS, _FIRST_LETTERS = 40, 12  # of a run's name in its id; of those, from its beginning
_TAIL_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # none that look alike
CAPTION, MAX_CAPTION = ".caption", 1000  # the ending of captions in media/, and their characters
SHARED_CODE = "code"  # the folder of a shared policy with modules of its author
PULLED_FROM = "pulled_from"  # the key of a manifest: where a policy that was pulled comes from
DIFF_FILE, PACKAGES_FILE = "git.diff", "packages.txt"  # what ran, see `provenance`
TRACE_ENDING, EPISODE_ENDING = ".trace.json", ".episode.gz"


def home_folder() -> Path:
    """$OPERANT_HOME, or the platform's folder for a user's state; absolute, because a loop may
    change its working directory.
    """
    chosen = os.environ.get("OPERANT_HOME")
    return Path(chosen).absolute() if chosen else platformdirs.user_state_path("operant")


def runs_folder() -> Path:
    return home_folder() / "runs"


class FileIn:
    """The path of a file in the folder of a run or a sweep, as an attribute."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, _: type | None = None) -> Path:
        path: Path = owner.folder / self._name
        return path


class Run:
    """A run, identified by its folder. `docs/runs.md` lists the files in it."""

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
    def id_in_page(self) -> str:
        """The id of the run in its page, which has room for 64 characters."""
        return self.id[:64]

    def is_own(self) -> bool:
        """Whether the run is this user's: its folder is not a link, and no other user can write to
        it. A run whose folder was deleted is known by its page, which is this user's.
        """
        return is_own_folder(self.folder) or not os.path.lexists(self.folder)

    def names_itself(self) -> bool:
        """Whether run.toml has the id that is the folder's name."""
        return self.manifest().get("id") == self.id

    manifest_path = FileIn(MANIFEST_FILE)
    notes_path = FileIn(NOTES_FILE)  # what people write about the run
    lock_path = FileIn("lock")
    checkpoint_folder = FileIn("checkpoints")
    trace_folder = FileIn("traces")  # of single iterations, `*TRACE_ENDING`
    episode_folder = FileIn("episodes")  # played during training, `*EPISODE_ENDING`
    weights_path = FileIn("weights.jsonl")  # a line of JSON for every analysis of the weights
    rows_path = FileIn("rows.sqlite")  # every row, written by the recorder
    events_path = FileIn("events.log")  # every event, written by the recorder
    sent_path = FileIn("sent.log")  # a line for each message that was sent to the user
    recorder_log_path = FileIn("recorder.log")  # the recorder's own warnings
    recording_path = FileIn("recording")  # empty; there until the recorder has written everything
    page_copy_path = FileIn("page")  # the last copy of the page, once its process has ended
    place_path = FileIn("place.json")  # the trainer's process, and where its page is

    def console_path(self, rank: int = 0) -> Path:
        """The file with the output of a rank's process."""
        return self.folder / ("console.log" if rank == 0 else f"console.{rank}.log")

    def manifest(self) -> dict[str, Any]:
        """The contents of run.toml, of any format; empty when it is missing or broken."""
        try:
            return self._parsed_manifest()
        except RunFolderError:
            return {}

    def manifest_written(self) -> tuple[int, int] | None:
        """A value that changes whenever run.toml is written; None if there is no run.toml."""
        return _written(self.manifest_path)

    def place_written(self) -> tuple[int, int] | None:
        """A value that changes whenever place.json is written; None if there is none."""
        return _written(self.place_path)

    def read_manifest(self) -> dict[str, Any]:
        """The contents of run.toml, to change and rewrite it; empty if it is missing. Raises
        RunFolderError if it cannot be read, or is of another format.
        """
        manifest = self._parsed_manifest()
        if maker := _made_by(manifest):
            raise RunFolderError(f"{self.id} was {maker}")
        return manifest

    def made_by(self) -> str:
        """The version that made this run, if its format is not this version's; else empty."""
        return _made_by(self.manifest())

    def _parsed_manifest(self) -> dict[str, Any]:
        try:
            manifest = read_toml(self.manifest_path, MAX_MANIFEST_BYTES, self.folder)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or one_line(str(error), 200)
            raise RunFolderError(f"{self.manifest_path} cannot be read: {reason}") from None
        for key, kind in _KINDS.items():
            if not isinstance(manifest.get(key, kind()), kind):
                what = f"{key} is not a {kind.__name__}"
                raise RunFolderError(f"{self.manifest_path} cannot be read: {what}")
        return manifest

    def notes(self) -> RunNotes:
        """The user's name, note and tags of the run, see `run_notes`."""
        return read_notes(self.folder)

    @property
    def name(self) -> str:
        """The name to show: the one that the user gave it, else its id."""
        return self.notes().name or self.id

    def oddity(self) -> str:
        """Why run.toml or the lock file is not valid; empty if both are."""
        for path in (self.manifest_path, self.lock_path):
            try:
                if not stat.S_ISREG(path.lstat().st_mode):
                    return f"{path.name}: not a regular file"
            except FileNotFoundError:
                continue
            except OSError as error:
                return f"{path.name}: {error.strerror}"
        return ""

    def replace_files(self, files: Mapping[str, bytes], number: int) -> None:
        """Write the files of `what_ran` for a resumed run. Earlier ones with other contents are
        kept: `git.diff` as `git.1.diff`, with the `number` of the process that ran them.
        """
        for name in (DIFF_FILE, PACKAGES_FILE):
            path, data = self.folder / name, files.get(name)  # no diff outside a repository
            with contextlib.suppress(OSError):
                if read_small(path, MAX_MANIFEST_BYTES, self.folder) == data:
                    continue
                path.rename(path.with_name(f"{path.stem}.{number}{path.suffix}"))
            if data is not None:
                write_whole(path, data, outlives_power_cut=False)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write run.toml. Any value becomes TOML, see `plain`; secrets are masked."""
        values = masked(plain({**manifest, "format": RUN_FORMAT}))
        text = harmless_toml(tomli_w.dumps(values))
        write_whole(self.manifest_path, text.encode())


def _written(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _made_by(manifest: Mapping[str, Any]) -> str:
    if not manifest or manifest.get("format") == RUN_FORMAT:
        return ""
    versions = manifest.get("versions")
    version = versions.get("operant-rl") if isinstance(versions, dict) else None
    return made_by(one_line(version, 20) if isinstance(version, str) else "0.3")


def memory_runs_folder() -> Path:
    """The folder, in memory, of runs that began while the disk was full."""
    home = zlib.crc32(os.fsencode(os.path.abspath(runs_folder())))
    return page_folder() / f"runs-{home:08x}"


@contextlib.contextmanager
def opened_home(
    folder: Path, owners: Owners | None = None, *, check_mode: bool = True
) -> Iterator[int]:
    """Open a folder that has runs or sweeps in it; gives its descriptor. Raises as `opened_folder`.

    In memory every part of its path must be this user's: anyone can make a folder of that name
    first. Elsewhere the user has named the folder above it, and `folder` may be a link where only
    this user can have made it: in a folder of this user that nobody else can write to.
    """
    is_in_memory = folder.parent == page_folder()
    with opened_folder(
        folder.parent,
        this_user() if is_in_memory else None,
        follow=not is_in_memory,
        check_mode=is_in_memory,
    ) as above:
        status = os.fstat(above)
        is_private = status.st_uid == os.getuid() and not status.st_mode & WRITE_OF_OTHERS
        with opened_folder(
            folder,
            this_user() if is_in_memory else owners,
            at=above,
            follow=is_private and not is_in_memory,
            check_mode=check_mode or is_in_memory,
        ) as fd:
            yield fd


def folders_in(home: Path) -> list[Path]:
    """The folders of runs or sweeps in `home`, without links and without those that are being
    created or removed. Empty if `home` is missing or not trusted.
    """
    return [home / name for name in _names_in(home, _is_folder) if name[0] != "."]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _names_in(home: Path, is_wanted: Callable[..., bool]) -> list[str]:
    try:
        with opened_home(home) as fd, os.scandir(fd) as entries:
            return [entry.name for entry in entries if is_wanted(entry)]
    except OSError:
        return []


def refused_folders() -> list[str]:
    """A line for every folder of runs, sweeps or pages that is not trusted, with the reason, and
    for the links in them.
    """
    return list(dict.fromkeys(_refusals()))


def _refusals() -> Iterator[str]:
    for folder in (page_folder(), memory_runs_folder(), runs_folder(), home_folder() / "sweeps"):
        try:
            is_root = folder == page_folder()
            with opened_folder(folder, this_user()) if is_root else opened_home(folder):
                pass
        except RefusedError as error:
            yield f"{error}; nothing in it is read or deleted"
            continue
        except OSError:
            continue
        links = [] if is_root else sorted(_names_in(folder, os.DirEntry.is_symlink))
        if links:
            few = ", ".join(links[:3]) + (", ..." if len(links) > 3 else "")
            yield f"links in {folder} are not followed: {few}"


def make_home(folder: Path) -> None:
    """Create the folder of runs or sweeps, and the one above it, for this user alone.

    Existing folders of this user lose the right of others to write; the default home, which operant
    created, loses all rights of others. Raises OSError, RefusedError if `folder` is another user's.
    """
    home = folder.parent
    is_default = "OPERANT_HOME" not in os.environ
    if not home.exists():
        make_private_folder(home)
    else:
        with (
            contextlib.suppress(RefusedError),  # another user's, named by this one: left as it is
            opened_folder(home, this_user(), follow=True, check_mode=False) as fd,
        ):
            forbid(fd, home, ALL_OF_OTHERS if is_default else WRITE_OF_OTHERS)
    if not os.path.lexists(folder):
        make_private_folder(folder)
    with opened_home(folder, this_user(), check_mode=False) as fd:
        forbid(fd, folder, WRITE_OF_OTHERS)


def create_run(
    name: str,
    manifest: Mapping[str, Any],
    *,
    lock_byte: int = TRAINER,
    parent: Path | None = None,
    run_id: str = "",
    files: Mapping[str, bytes] = {},
) -> tuple[Run, RunLock]:
    """Create a run folder in `parent`, by default `runs_folder()`, with `files` by name, and take
    the lock of `lock_byte` in it. Its id is derived from `name`, unless `run_id` is given.

    The folder gets its name last, so that no run is ever seen without its manifest and its lock.
    Raises RunFolderError, and leaves nothing, when the folder cannot be written.
    """
    parent = parent or runs_folder()
    run_id = run_id or make_run_id(name)
    building = Run(parent / f".{run_id}.building")
    lock = None
    try:
        make_home(parent)
        make_private_folder(building.folder)
        for file_name, data in files.items():
            write_whole(building.folder / file_name, data, outlives_power_cut=False)
        building.write_manifest({"id": run_id, "name": name, **manifest})
        lock = RunLock(building.lock_path, lock_byte)
        return Run(building.folder.rename(parent / run_id)), lock
    except BaseException as error:
        if lock:
            lock.release()
        shutil.rmtree(building.folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise RunFolderError(f"cannot write runs to {parent}: {error.strerror}") from None
        raise


def make_run_id(name: str, began_s: float | None = None) -> str:
    """`20261121-142530-cart_pole-ppo-k3f9`: the time (UTC), by default now, the name, and four
    random letters.
    """
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "run"
    if len(words) > _NAME_LETTERS:  # the end tells runs of a sweep apart
        words = f"{words[:_FIRST_LETTERS]}..{words[2 + _FIRST_LETTERS - _NAME_LETTERS :]}"
    tail = "".join(secrets.choice(_TAIL_LETTERS) for _ in range(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began_s))}-{words}-{tail}"


def name_in(run_id: str) -> str:
    """The name, possibly shortened, from which `make_run_id` made an id."""
    return run_id[len("20261121-142530-") : -len("-k3f9")]
