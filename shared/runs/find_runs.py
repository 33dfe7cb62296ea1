"""Lists runs, newest first, and finds the run that a name means."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from ..errors import RunFolderError, RunNotFoundError, UsageError, nearest
from ..page.page_file import is_left_behind, page_folder, place_of_page
from .owners import opened_folder, this_user
from .run_folder import Run, folders_in, memory_runs_folder, name_in, runs_folder
from .run_notes import MANIFEST_FILE

Warn = Callable[[str], None]
LATEST = "latest"  # names the newest run, and can name no other


def list_runs() -> list[Run]:
    """All runs, newest first; also runs with a folder in memory, and running ones whose folder was
    deleted.
    """
    folders = [*folders_in(runs_folder()), *folders_in(memory_runs_folder())]
    folders = [folder for folder in folders if _is_run(folder)]
    known = {folder.name for folder in folders}
    folders += [folder for folder in _deleted_folders(known) if folder.name not in known]
    return [Run(folder) for folder in sorted(folders, key=_made, reverse=True)]


def _is_run(folder: Path) -> bool:
    """Whether a folder is a run: it has a lock or a run.toml. Users may keep other folders beside
    their runs.
    """
    try:
        return not {"lock", MANIFEST_FILE}.isdisjoint(os.listdir(folder))
    except OSError:  # listed with the reason
        return True


def own_runs() -> Iterator[Run]:
    """The runs of this user, newest first. `list_runs` also has runs of other users, if
    $OPERANT_HOME is theirs.
    """
    return (run for run in list_runs() if run.is_own())


def names_of_pages() -> list[str]:
    """The names in the folder of this user's pages; empty if another user made the folder."""
    try:
        with opened_folder(page_folder(), this_user()) as fd:
            return os.listdir(fd)
    except OSError:
        return []


def _deleted_folders(known: Collection[str]) -> Iterator[Path]:
    """The deleted folders of runs that are still running, by their pages."""
    home = os.path.abspath(runs_folder())
    for name in names_of_pages():
        run_id = name.removesuffix(".page")
        if name.endswith(".page") and run_id not in known and not run_id.startswith("."):
            page = page_folder() / name
            place = place_of_page(page)
            if place and str(place.path) == os.path.join(home, run_id) and not is_left_behind(page):
                yield place.path


def find_run(wanted: str, warn: Warn | None = None) -> Run:
    """The run that `wanted` names, see `run_called`. Raises RunFolderError for a run of a version
    whose files this one cannot read.
    """
    run = run_called(wanted, warn)
    if made_by := run.made_by():
        raise RunFolderError(f"{run.id} was {made_by}")
    return run


def run_called(wanted: str, warn: Warn | None = None) -> Run:
    """The run, of any version, that `wanted` names: by its id, its name, or a part of either that
    no other run has; `latest` is the newest run. With `warn`, which gets a line about it, the
    newest of several runs of one name.

    Raises RunNotFoundError, which names similar ones.
    """
    if wanted == LATEST:
        return latest_run()
    runs = list_runs()
    if not runs:
        raise RunNotFoundError(no_runs_text())
    matches = [run for run in runs if run.id == wanted]
    names: dict[Run, str] = {}
    if wanted and not matches:
        names = {run: run.notes().name for run in runs}
        matches = (
            [run for run in runs if names[run] == wanted]
            or [run for run in runs if name_in(run.id) == wanted]
            or [run for run in runs if wanted in run.id or wanted in names[run]]
            # The run of a captured script gets its name later than its id.
            or [run for run in runs if run.manifest().get("name") == wanted]
        )
    if len(matches) == 1:
        return matches[0]
    if not matches:
        elsewhere = "; what is on another machine, call there" if ":" in wanted else ""
        near = nearest(wanted, {*names.values(), *(name_in(run.id) for run in runs)})
        raise RunNotFoundError(
            f"no run is called '{wanted}'; the newest is {runs[0].id}{elsewhere}{near}"
        )
    newest = matches[0]
    few = ", ".join(run.id for run in matches[:4]) + (", ..." if len(matches) > 4 else "")
    end = newest.id.rpartition("-")[2]
    if warn and wanted in (names[newest], name_in(newest.id), newest.manifest().get("name")):
        warn(f"{len(matches)} runs are called '{wanted}': {few}; this is the newest")
        return newest
    raise RunNotFoundError(
        f"'{wanted}' matches {len(matches)} runs: {few}; give a whole id, or its end, as '{end}'"
    )


def check_is_free(name: str, but_for: str = "") -> None:
    """Raises UsageError if another run than the one with the id `but_for` has the id or name
    `name`.
    """
    if name == LATEST:
        raise UsageError(f"'{LATEST}' always names the newest run: choose another name")
    for run in list_runs():
        if run.id != but_for and name in (run.id, run.notes().name):
            raise UsageError(f"another run is called '{name}': {run.id}")


def latest_run() -> Run:
    """The newest run of this user that this version can read. Raises RunFolderError if it can read
    none of them, RunNotFoundError if there are none.
    """
    unread = ""
    for run in own_runs():
        made_by = run.made_by()
        if not made_by:
            return run
        unread = unread or f"{run.id} was {made_by}"
    if unread:
        raise RunFolderError(unread)
    others = len(list_runs())
    if others:
        raise RunNotFoundError(
            f"none of the {others} runs in {runs_folder()} is yours; name the one that you mean"
        )
    raise RunNotFoundError(no_runs_text())


def no_runs_text() -> str:
    return (
        f"no runs in {runs_folder()} yet; `operant train` starts one, and "
        "`operant capture -- COMMAND` keeps any other program's"
    )


def _made(folder: Path) -> tuple[str, int]:
    """Sort key: the second in the id, then the time at which the lock was created."""
    try:
        made_ns = (folder / "lock").lstat().st_mtime_ns
    except OSError:
        made_ns = 0
    return folder.name[:15], made_ns
