"""Writes a run from rows that were logged elsewhere, with the times at which they were logged."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from ...shared.errors import OperantError, UsageError
from ...shared.integrations import process_end
from ...shared.integrations.current_run import set_current_run
from ...shared.integrations.logged_run import LoggedRun
from ...shared.integrations.media_folder import MAX_FILE_BYTES
from ...shared.integrations.process_end import Ending
from ...shared.runs.run_folder import create_run, make_run_id
from ...shared.runs.session import RunSession
from ..recorder.events_file import EventsFile
from ..recorder.page_recorder import PageRecorder

# Keys of run.toml. A run without the second one is of an import that is under way or was killed.
IMPORTED_FROM, IMPORTED_BYTES = "imported_from", "imported_bytes"
RECORD_EVERY_ROWS = 64  # 64 rows of 4096 metrics fit well into a page
MAX_WALL_S = 1 << 33  # the year 2242
# Of what is read at once: an event, a record, a line. The largest picture that a run keeps fits in.
MAX_RECORD_BYTES = MAX_FILE_BYTES + (1 << 20)
NO_ROWS = "it has no rows that can be imported"


class Source(Protocol):
    """A run of another program: the files that it logged into."""

    path: Path
    name: str
    files: list[Path]

    def began_s(self) -> float:
        """When the run began, in seconds since 1970. Raises UsageError if nothing can be read; the
        text calls the source "it".
        """

    def write(self, run: ImportedRun) -> None:
        """Log everything into `run`. If a file breaks off, log what was read, and warn."""


class RowClock:
    """Shows the time at which the current row was logged. It never goes back."""

    def __init__(self, wall_s: float) -> None:
        self._wall_ns = int(wall_s * 1e9)
        self._boot_ns = time.time_ns() - time.monotonic_ns()

    def go_to(self, wall_s: float) -> None:
        if 0 <= wall_s < MAX_WALL_S:
            self._wall_ns = max(self._wall_ns, int(wall_s * 1e9))

    def time_ns(self) -> int:
        return self._wall_ns

    def monotonic_ns(self) -> int:
        return self._wall_ns - self._boot_ns


class ImportedRun(LoggedRun):
    """Rows are recorded in this process: a recorder of its own could be too slow for them."""

    def __init__(
        self, session: RunSession, manifest: dict[str, Any], source: Source, clock: RowClock
    ) -> None:
        super().__init__(session, manifest)
        self._num_bytes = num_bytes(source.files)
        self.ending = Ending("ended", 0, f"imported from {manifest[IMPORTED_FROM]}")
        self._clock, self._folder = clock, session.run.folder
        self._recorder = PageRecorder(
            session.run,
            EventsFile(session.run.events_path),
            is_alive=lambda: self.is_open,
            complain=lambda text: self._warn_once(text, text),
        )

    @property
    def num_rows(self) -> int:
        return self._iteration

    def log_at(self, wall_s: float, values: dict[str, Any], step: int | None) -> None:
        """Log a complete row. `wall_s` is when that was, in seconds since 1970."""
        self.go_to(wall_s, step)
        self.log(values, step, commit=True)

    def go_to(self, wall_s: float, step: int | None) -> None:
        """Set the time and the step of what is logged next."""
        if step != self._step:
            self.flush()
        self._clock.go_to(wall_s)

    def complete(self) -> None:
        """End the run. Raises OperantError if its folder does not take all of it."""
        self._manifest[IMPORTED_BYTES] = self._num_bytes
        self.end(self.ending)
        self._recorder.look()
        if not self._recorder.is_complete:
            raise OperantError(f"cannot write all of the run to {self._folder}")

    def discard(self) -> None:
        """Leave nothing of the run."""
        process_end.forget(self)
        self._is_open = False
        if self._session:
            self._session.abandon()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _publish(self) -> None:
        super()._publish()
        if self._iteration % RECORD_EVERY_ROWS == 0:
            self._recorder.look()

    def _publish_soon(self) -> None:
        """Rows wait for the next one, not for a time: the same files always give the same rows."""


def import_run(source: Source) -> ImportedRun:
    """Write `source` as a new run. Raises OperantError or OSError, and leaves no run, if nothing of
    it can be read or if it cannot be written.
    """
    began_s = source.began_s()
    if not 0 <= began_s < MAX_WALL_S:
        raise UsageError(f"its first row is of {began_s} seconds since 1970")
    manifest = {
        "name": source.name,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began_s)),
        IMPORTED_FROM: str(source.path.resolve()),
    }
    run, lock = create_run(source.name, manifest, run_id=make_run_id(source.name, began_s))
    clock = RowClock(began_s)
    imported = None
    try:
        session = RunSession(run, lock, publish_interval_s=0.0, recorder=None, clock=clock)
        imported = ImportedRun(session, {"id": run.id, **manifest}, source, clock)
        set_current_run(imported)  # for warnings about values that are not kept
        source.write(imported)
        imported.flush()
        if not imported.num_rows:
            raise UsageError(NO_ROWS)
        imported.complete()
    except BaseException:
        if imported:
            imported.discard()
        else:
            lock.release()
            shutil.rmtree(run.folder, ignore_errors=True)
        raise
    return imported


def name_of(folder: Path) -> str:
    """The name of a run whose files are in `folder`."""
    folder = folder.absolute()
    is_version = re.fullmatch(r"version_\d+", folder.name)  # as Lightning names runs
    return f"{folder.parent.name}-{folder.name}" if is_version else folder.name


def num_bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)
