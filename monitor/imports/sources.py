"""Finds the runs that other programs logged, and imports those that are new."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ...shared.errors import OperantError, UsageError
from ...shared.runs.find_runs import own_runs
from ...shared.runs.removal import remove_run
from ...shared.runs.run_notes import MANIFEST_FILE
from ...shared.text.plain_values import described_error
from .csv_logs import TABLES, CsvLog
from .event_files import EventFiles
from .imported_run import IMPORTED_BYTES, IMPORTED_FROM, Source, import_run, num_bytes
from .wandb_folder import WandbFolder

MAX_DEPTH = 64  # of folders below the one that is imported
EVENTS = "*tfevents*"


class Imported(NamedTuple):
    """The result for one source: a new run of `num_rows` rows, the run of an earlier import
    (`has_more`: the files have rows that this run lacks), or the error.
    """

    source: Source
    run_id: str = ""
    num_rows: int = 0
    has_more: bool = False
    error: OperantError | None = None


def import_all(path: Path) -> Iterator[Imported]:
    """Import every run at `path` and below. Raises UsageError if there is none."""
    try:
        sources = list(_sources(path))
    except OSError as error:
        raise UsageError(_in_words(error)) from None
    except RecursionError:  # of pathlib, which looks for event files
        raise UsageError(f"{path}: folders are nested too deeply") from None
    yield from map(_imported, sources)
    if not sources:
        raise UsageError(f"{path} has nothing that can be imported: {_KNOWN}")


_KNOWN = (
    "expected TensorBoard's event files, folders of wandb, progress.csv of Stable-Baselines3, or "
    "metrics.csv of Lightning"
)


def _imported(source: Source) -> Imported:
    try:
        files = {file.resolve() for file in source.files}
        for run in own_runs():
            manifest = run.manifest()
            former = _files_at(str(manifest.get(IMPORTED_FROM, "")), source.path.resolve())
            if files & former and IMPORTED_BYTES not in manifest:
                remove_run(run)  # of an import that was killed; raises where it still runs
            elif files & former:
                has_more = manifest.get(IMPORTED_BYTES) != num_bytes(former)
                return Imported(source, run.id, has_more=has_more or not files <= former)
        imported = import_run(source)
    except OperantError as error:
        return Imported(source, error=error)
    except OSError as error:
        return Imported(source, error=UsageError(_in_words(error)))
    except Exception as error:  # files of strangers: one that breaks this ends no other import
        return Imported(source, error=UsageError(described_error(error)))
    return Imported(source, imported.id, imported.num_rows)


def _files_at(imported_from: str, path: Path) -> set[Path]:
    """The files of an earlier import; empty if these cannot be files of `path` too."""
    former = Path(imported_from)
    is_near = former in (path, *path.parents) or path in former.parents
    if not imported_from or not is_near or not former.exists():
        return set()
    return {file.resolve() for source in _sources(former) for file in source.files}


def _in_words(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}"


def _sources(path: Path) -> Iterator[Source]:
    """The runs at `path`: the file, the folder, or else what is in the folders below it."""
    if _is_run(path):
        raise UsageError(f"{path} is a run of operant's already")
    if path.is_dir():
        yield from _sources_in(path)
    elif not path.is_file():
        raise UsageError(f"{path}: there is no such file or folder")
    elif path.match(EVENTS):
        yield EventFiles(path, [path])
    elif path.suffix == ".wandb":
        yield WandbFolder(path)
    elif path.suffix == ".csv":
        yield CsvLog(path)


def _sources_in(folder: Path, depth: int = 0) -> Iterator[Source]:
    if logs := _files(folder.glob("run-*.wandb")):
        yield from map(WandbFolder, logs)
    elif any(folder.glob(EVENTS)):
        yield EventFiles(folder, _files(folder.rglob(EVENTS)))
    elif tables := [path for name in TABLES if (path := folder / name).is_file()]:
        yield CsvLog(tables[0])
    elif depth < MAX_DEPTH:
        for inner in sorted(folder.iterdir()):
            # wandb links `latest-run`. Folders of other users are passed over.
            with contextlib.suppress(PermissionError):
                if inner.is_dir() and not inner.is_symlink() and not _is_run(inner):
                    yield from _sources_in(inner, depth + 1)


def _files(paths: Iterable[Path]) -> list[Path]:
    """The regular files of `paths`: reading a pipe would wait for its writer."""
    return sorted(path for path in paths if path.is_file())


def _is_run(folder: Path) -> bool:
    return (folder / MANIFEST_FILE).exists() and (folder / "lock").exists()
