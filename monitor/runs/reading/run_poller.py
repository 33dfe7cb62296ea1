"""Reads the page of one run, again and again, whatever becomes of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import replace

from ....shared import History, MetricsReader
from ....shared.errors import RowFileError
from ....shared.page.header import PageIdentity
from ....shared.processes.host import process_start
from ....shared.processes.lock import RECORDER, lock_holder
from ....shared.rows.curves import MAX_ROWS, Curves
from ....shared.runs.run_folder import Run
from ....shared.runs.status import RunStatus, open_page, status_of
from ..machine.machine import MachineSample
from ..machine.machine_sampler import MachineSampler
from .alerts import RecordedAlerts
from .file_tail import FileTail
from .media import RecordedMedia
from .recorded_notes import RecordedNotes
from .run_description import RecordedManifest
from .run_view import RunView, Wanted, view_of

REOPEN_EVERY_S = 1.0
MOST_TIMES_WIDER = 3  # a closer look may be wider than what is shown


def look_once(run: Run) -> RunView:
    """The view of a run now."""
    poller = RunPoller(run)
    try:
        return poller.poll()
    finally:
        poller.close()


class RunPoller:
    """Owns the reader of one run. `poll` gives the newest view and raises nothing, whatever the
    page holds; it attaches when a page appears, and again when the run is resumed by a new process.
    """

    def __init__(
        self, run: Run, now: Callable[[], float] = time.monotonic, *, max_rows: int = MAX_ROWS
    ) -> None:
        """`max_rows` is about how many rows of the run its views have."""
        self.run = run
        self._max_rows = max_rows
        self._curves: Curves | None = None
        self._wanted = Wanted()
        self._zoom: tuple[int, int | None] | None = None  # rows of the closer look
        self._detail: History | None = None
        self._now = now
        self._reader: MetricsReader | None = None
        self._page_error = ""
        self._place: tuple[int, int] | None = None
        self._identity: PageIdentity | None = None
        self._opened_s = float("-inf")
        self._seen_s = 0.0
        self._view: RunView | None = None
        self._console = FileTail(run.console_path())
        self._alerts = RecordedAlerts(run.events_path)
        self._manifest = RecordedManifest(run)
        self._notes = RecordedNotes(run)
        self._media = RecordedMedia(run)
        self._sampler = MachineSampler(run.folder.parent)
        self._process: tuple[int, int] | None = None  # its id and start, of the open page

    def poll(self) -> RunView:
        """Look once. What cannot be read now keeps what was read before."""
        try:
            self._keep_attached()
            view = self._look() if self._reader else self._without_page()
        # A page is bytes that anyone may write: none may end the monitor of all other runs.
        except Exception as error:
            self._detach(str(error) or type(error).__name__)
            view = self._without_page()
        if self._reader:
            self._seen_s = self._now()
        self._view = self._with_papers(view)
        return self._view

    def close(self) -> None:
        self._detach("")

    def machine(self) -> MachineSample | None:
        """Sample the machine and the run's process; None once that has gone. Runs in another thread
        than `poll`, which it must not delay.
        """
        if self._process is None:
            return None
        pid, start = self._process
        return self._sampler.sample(pid) if process_start(pid) == start else None

    def _look(self) -> RunView:
        """Read the open page."""
        assert self._reader
        assert self._curves
        status = status_of(self.run, self._reader)
        is_recorded = lock_holder(self.run.lock_path, RECORDER) is not None
        view = view_of(self._reader, self._curves, status, self._view)
        is_new = self._view is None or view.history is not self._view.history
        return replace(
            view,
            console=self._console.read(),
            alerts=self._alerts.read(),
            is_recorded=is_recorded,
            detail=self._closer(self._curves, view.history, is_new),
            wanted=self._wanted,
        )

    def _with_papers(self, view: RunView) -> RunView:
        """With what the run's folder tells, whether there is a page or not."""
        try:
            knobs, description = self._manifest.read()
            return replace(
                view, knobs=knobs, description=description, notes=self._notes.read(),
                media=self._media.read(),
            )  # fmt: skip
        except Exception:  # whatever somebody wrote there
            return view

    def _closer(self, curves: Curves, history: History, is_new: bool) -> History | None:
        """The rows of the part that the screen looks at closely, and half as many on both sides."""
        wanted, self._wanted.rows = self._wanted.rows, None
        if wanted is None:
            if is_new:  # nobody looked at the last one
                self._zoom = self._detail = None
            return self._detail
        first, last = wanted
        margin = (last - first + 1) // 2
        newest = int(history.last_row[-1])
        if not self._serves(first, last):
            end = None if last + margin >= newest else last + margin
            self._zoom = max(1, first - margin), end
            is_new = True
        if self._zoom and (is_new or self._detail is None):
            begin, end = self._zoom
            self._detail = None
            with contextlib.suppress(RowFileError):  # a mirror has no old rows of a fine level
                self._detail = curves.closer(begin, newest if end is None else end)
        return self._detail

    def _serves(self, first: int, last: int) -> bool:
        """Whether the closer look has these rows, and not so many more that it is coarse."""
        if self._zoom is None:
            return False
        begin, end = self._zoom
        has_all = begin <= first and (end is None or last <= end)
        return has_all and (end or last) - begin < MOST_TIMES_WIDER * (last - first + 1)

    def _without_page(self) -> RunView:
        """The view of a run whose page cannot be read: its lock, and the previous view."""
        try:
            status = status_of(self.run, None, self._page_error)
        except OSError as error:  # a file system without locks
            status = RunStatus(self.run.id, "crashed", message=str(error))
        is_page_expected = os.path.exists(self.run.place_path)
        if self._view is None:
            return RunView(status, is_page_expected=is_page_expected, console=self._console.read())
        seen = self._view.status
        status = replace(
            seen,
            state=status.state if seen.is_alive or status.is_alive else seen.state,
            age_s=None if seen.age_s is None else seen.age_s + self._now() - self._seen_s,
            eta_s=None,
            message=status.message,
        )
        self._seen_s = self._now()
        return replace(
            self._view, status=status, is_page_expected=is_page_expected,
            console=self._console.read(),
        )  # fmt: skip

    def _keep_attached(self) -> None:
        """Open the page when none is open; look for a newer one when the run's process changed, and
        once a second while the one that is open is not being written.
        """
        place = self.run.place_written()
        is_live = self._view is not None and self._view.status.state == "running"
        is_quiet = self._reader is None or not is_live
        is_due = is_quiet and self._now() - self._opened_s >= REOPEN_EVERY_S
        if place == self._place and not is_due:
            return
        self._place, self._opened_s = place, self._now()
        try:
            reader = open_page(self.run)
        except Exception as error:  # as in `poll`
            if self._reader is None:
                self._page_error = str(error) or type(error).__name__
            return
        identity = reader.header.identity
        if self._reader and identity == self._identity:
            reader.detach()
            return
        self._detach("")
        self._reader = reader
        self._curves = Curves(self.run.rows_path, reader, max_rows=self._max_rows)
        self._process = reader.header.pid, reader.header.process_start
        if identity != self._identity:
            self._identity, self._view = identity, None

    def _detach(self, page_error: str) -> None:
        self._page_error = page_error
        if self._curves:
            self._curves.close()
        self._curves = self._zoom = self._detail = None
        if self._reader:
            self._reader.detach()
        self._reader = None
