"""The end of a stream on the run's own machine."""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, BinaryIO

from ...shared.errors import PageError
from ...shared.page.reader import MetricsReader
from ...shared.processes.host import process_start
from ...shared.processes.lock import RECORDER, lock_holder
from ...shared.runs.run_elsewhere import REPORT_FILE
from ...shared.runs.run_folder import DIFF_FILE, PACKAGES_FILE, Run
from ...shared.runs.status import RunReport, RunStatus, open_page, status_of
from ..runs.list.runs_poller import RunRow, RunsPoller
from ..runs.machine.machine_sampler import MachineSampler
from .changed_files import GrowingFile, NewestMedia, PageFile, Pieces, SmallFile, whole
from .frames import MACHINE_FILE, PLACE_FILE, PROTOCOL, Frame, write_frame
from .sent_rows import SentRows

MACHINE_EVERY_S = 2.0
SOON_S = 0.05  # while some runs were never looked at
MOST = 1e18  # of a number in a report
LIST_METRICS = 256  # of a run in the list
MOVED_S = 0.5  # a last publish that moved by more is another one


def send_run(run: Run, out: BinaryIO, every_s: float, watcher: BinaryIO = sys.stdin.buffer) -> None:
    """Write what changed in the files of `run` every `every_s`, see `_send`."""
    sender = _RunSender(run)
    _send(out, watcher, run.id, sender.look, lambda: every_s)


def send_list(out: BinaryIO, every_s: float, watcher: BinaryIO = sys.stdin.buffer) -> None:
    """Write what changed in the list of runs every `every_s`, see `_send`."""
    sender = _ListSender()
    _send(out, watcher, "", sender.look, lambda: every_s if sender.is_complete else SOON_S)


def _send(
    out: BinaryIO,
    watcher: BinaryIO,
    run_id: str,
    look: Callable[[], Iterator[Frame]],
    pause_s: Callable[[], float],
) -> None:
    """Write what `look` gives until the other side is gone: until `out` breaks or `watcher`, from
    which nothing is ever expected, ends.
    """
    try:
        write_frame(out, Frame({"protocol": PROTOCOL, "run": run_id}))
        while True:
            for frame in look():
                write_frame(out, frame)
            ready, _, _ = select.select([watcher], [], [], pause_s())
            if ready and not watcher.read1(1):  # type: ignore[attr-defined]
                return
    except BrokenPipeError:
        return


class _RunSender:
    """Looks at one run and remembers what of it was sent."""

    def __init__(self, run: Run) -> None:
        self._run = run
        beside = (run.folder / name for name in (DIFF_FILE, PACKAGES_FILE))
        small = (run.manifest_path, run.notes_path, *beside)
        self._small = [SmallFile(path) for path in small]
        self._growing = [GrowingFile(run.events_path), GrowingFile(run.console_path())]
        self._page, self._place = PageFile(), _Place(run)
        self._rows = SentRows(run.rows_path)
        self._media = NewestMedia(run)
        self._sampler = MachineSampler(run.folder.parent)
        self._sampled_s = float("-inf")

    def look(self) -> Iterator[Frame]:
        """Frames with all changes. The small files and the report come first: a command that wants
        the status alone need not wait for the page.
        """
        for head, data in self._pieces():
            yield Frame({"run": self._run.id, **head}, data)
        yield Frame({"run": self._run.id, "is_complete": True})

    def _pieces(self) -> Pieces:
        for small in self._small:
            yield from small.pieces()
        reader, page_error = None, ""
        try:
            reader = open_page(self._run)
        except PageError as error:
            page_error = str(error)
        try:
            yield self._report(status_of(self._run, reader, page_error))
            if time.monotonic() - self._sampled_s >= MACHINE_EVERY_S:
                self._sampled_s = time.monotonic()
                yield whole(MACHINE_FILE, json.dumps(self._machine(reader)).encode())
            if reader:
                yield from self._page.pieces(reader)
                yield from self._rows.pieces(reader)
        except PageError:  # cut short: all of it is sent when it is whole again
            self._page, self._rows = PageFile(), SentRows(self._run.rows_path)
        finally:
            if reader:
                reader.detach()
        yield from self._place.pieces(reader.header.identity if reader else None)
        for growing in self._growing:
            yield from growing.pieces()
        yield from self._media.pieces()

    def _report(self, status: RunStatus) -> tuple[dict[str, Any], bytes]:
        return _report(
            RunReport(
                status,
                is_recorded=lock_holder(self._run.lock_path, RECORDER) is not None,
                num_media=self._media.num_files,
            )
        )

    def _machine(self, reader: MetricsReader | None) -> dict[str, Any] | None:
        """A sample of the machine; None once the run's process is gone."""
        if reader is None or process_start(reader.header.pid) != reader.header.process_start:
            return None
        sample = self._sampler.sample(reader.header.pid)
        return asdict(sample) if sample else None


class _Place:
    """`place.json`, which says that a page is expected: sent without its contents, and again once
    another page was sent.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._sent: object = None

    def pieces(self, page: object) -> Pieces:
        written = self._run.place_written()
        if written and (written, page) != self._sent:
            self._sent = written, page
            yield whole(PLACE_FILE, b"")


class _ListSender:
    """Looks at all runs and remembers what of them was sent."""

    def __init__(self) -> None:
        self._poller = RunsPoller()
        self._sent: dict[str, tuple[RunRow, float]] = {}
        self._files: dict[str, list[SmallFile | _Place]] = {}
        self.is_complete = False

    def look(self) -> Iterator[Frame]:
        """Frames with all changes; the last says whether every run was looked at."""
        view = self._poller.poll()
        rows = {row.run.id: row for row in view.rows}
        for run_id in [run_id for run_id in self._files if run_id not in rows]:
            del self._files[run_id]
            self._sent.pop(run_id, None)
            yield Frame({"run": run_id, "is_gone": True})
        for run_id, row in rows.items():
            for head, data in self._pieces(row):
                yield Frame({"run": run_id, **head}, data)
        self.is_complete = view.is_complete
        yield Frame({"is_complete": view.is_complete})

    def _pieces(self, row: RunRow) -> Pieces:
        run = row.run
        if run.id not in self._files:
            small = [SmallFile(path) for path in (run.manifest_path, run.notes_path)]
            self._files[run.id] = [*small, _Place(run)]
        for file in self._files[run.id]:
            yield from file.pieces() if isinstance(file, SmallFile) else file.pieces(None)
        before = self._sent.get(run.id)
        if row.status and not (before and not _is_changed(row, *before)):
            metrics = dict(islice(row.status.metrics.items(), LIST_METRICS))
            returns = tuple(min(max(value, -MOST), MOST) for value in row.returns)
            yield _report(RunReport(replace(row.status, metrics=metrics), returns=returns))
            self._sent[run.id] = row, _published_s(row)


def _report(report: RunReport) -> tuple[dict[str, Any], bytes]:
    """The report as JSON, whose metrics alone may be NaN or infinite."""
    status = report.status.as_json() | {"metrics": report.status.metrics}
    return whole(REPORT_FILE, json.dumps({**vars(report), "status": status}).encode())


def _is_changed(row: RunRow, before: RunRow, published_s: float) -> bool:
    """Whether the row differs from the one that was sent in more than its age."""
    if abs(_published_s(row) - published_s) > MOVED_S:
        return True
    return _timeless(row) != _timeless(before)


def _published_s(row: RunRow) -> float:
    """The moment of the last publish, by the poller's clock; 0 where there was none."""
    if row.status is None or row.status.age_s is None:
        return 0.0
    return row.looked_s - row.status.age_s


def _timeless(row: RunRow) -> RunRow:
    status = row.status and replace(row.status, age_s=None)
    return replace(row, status=status, looked_s=0.0, returns_s=0.0)
