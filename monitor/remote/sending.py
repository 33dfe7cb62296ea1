"""The end of a stream on the run's own machine."""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, BinaryIO

from ...shared.errors import PageError
from ...shared.page.header import PageIdentity
from ...shared.runs.run_folder import Run
from ...shared.runs.run_notes import RunNotes
from ...shared.runs.status import open_page
from ..recorder.events_file import event_line
from ..runs.list.runs_poller import RunRow, RunsPoller
from ..runs.reading.alerts import Alert
from ..runs.reading.run_description import NO_DESCRIPTION
from ..runs.reading.run_poller import RunPoller
from .frames import PROTOCOL, Frame, write_frame
from .page_blocks import PageBlocks
from .row_bounds import MAX_KEYS, MAX_METRICS, VALUE_CHARACTERS, plain_value

MACHINE_EVERY_S = 2.0  # and the console
SOON_S = 0.05  # while some runs were never looked at
FRAME_BYTES = 1 << 18  # about, of the rows of one frame
MOST = 1e18  # of a number in the pipe
MOVED_S = 0.5  # a last publish that moved by more is another one
CONSOLE_LINES, LINE_CHARACTERS = 300, 1000  # of a console at most
NUM_ALERTS = 100


def send_run(run: Run, out: BinaryIO, every_s: float, watcher: BinaryIO = sys.stdin.buffer) -> None:
    """Write a frame every `every_s` until the other side is gone: until `out` breaks or `watcher`,
    from which nothing is ever expected, ends.
    """
    sender = _Sender(run)
    try:
        write_frame(out, sender.greeting())
        while True:
            write_frame(out, sender.look())
            while not sender.is_complete:
                write_frame(out, sender.look())
            ready, _, _ = select.select([watcher], [], [], every_s)
            if ready and not watcher.read1(1):  # type: ignore[attr-defined]
                return
    except BrokenPipeError:
        return
    finally:
        sender.close()


class _Sender:
    """Looks at one run and remembers what of it was sent."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._poller = RunPoller(run)
        self._identity: PageIdentity | None = None
        self._blocks = PageBlocks()
        self._sampled_s = float("-inf")
        self._console: tuple[str, ...] = ()
        self._alerts: tuple[Alert, ...] = ()
        self._notes = RunNotes()
        self._description = NO_DESCRIPTION

    def greeting(self) -> Frame:
        """The status alone, so that who wants no more need not wait for the page."""
        return Frame({"protocol": PROTOCOL, "run": self._run.id, **self._state()})

    def look(self) -> Frame:
        """The status, and what changed in the page where it can be read."""
        head = self._state()
        try:
            reader = open_page(self._run)
        except PageError:
            return Frame(head)
        try:
            if reader.header.identity != self._identity:
                self._identity, self._blocks = reader.header.identity, PageBlocks()
            changes = self._blocks.changes(reader)
            head["page"] = {
                "identity": self._identity,
                "bytes": reader.header.layout.page_bytes,
                "is_partial": not self._blocks.is_complete,
            }
            return Frame(head, changes)
        except PageError:
            self._blocks = PageBlocks()
            self._identity = None
            return Frame(head)
        finally:
            reader.detach()

    @property
    def is_complete(self) -> bool:
        """Whether the other side has all of the page as it was at the last look."""
        return self._blocks.is_complete

    def close(self) -> None:
        self._poller.close()

    def _state(self) -> dict[str, Any]:
        view = self._poller.poll()
        head = {
            "status": view.status.as_fields(),
            "is_page_expected": view.is_page_expected,
            "num_media": len(view.media),
        }
        if view.notes != self._notes:
            self._notes = view.notes
            head["notes"] = view.notes.as_json()
        if view.description is not self._description:
            self._description = view.description
            head["description"] = asdict(view.description)
        if time.monotonic() - self._sampled_s >= MACHINE_EVERY_S:
            self._sampled_s = time.monotonic()
            sample = self._poller.machine()
            head["machine"] = sample.as_json() if sample else None
            head["is_recorded"] = view.is_recorded
            head["knobs"] = asdict(view.knobs) if view.knobs else None
            if view.alerts != self._alerts:
                self._alerts = view.alerts
                newest = view.alerts[-NUM_ALERTS:]
                head["alerts"] = [event_line(alert.as_event()) for alert in newest]
            if view.console is not self._console:
                self._console = view.console
                lines = view.console[-CONSOLE_LINES:]
                head["console"] = [line[:LINE_CHARACTERS] for line in lines]
        return head


def send_list(out: BinaryIO, every_s: float, watcher: BinaryIO = sys.stdin.buffer) -> None:
    """Write what changed in the list of runs every `every_s`, a frame at least, until the other
    side is gone: until `out` breaks or `watcher`, from which nothing is ever expected, ends.
    """
    sender = _ListSender()
    try:
        while True:
            for frame in sender.look():
                write_frame(out, frame)
            pause_s = every_s if sender.is_complete else SOON_S
            ready, _, _ = select.select([watcher], [], [], pause_s)
            if ready and not watcher.read1(1):  # type: ignore[attr-defined]
                return
    except BrokenPipeError:
        return


class _ListSender:
    """Looks at all runs and remembers what of them was sent."""

    def __init__(self) -> None:
        self._poller = RunsPoller()
        self._sent: dict[str, tuple[RunRow, float]] = {}
        self.is_complete = False

    def look(self) -> Iterator[Frame]:
        """Frames with what changed; the last says whether that is all."""
        view = self._poller.poll()
        rows = {row.run.id: row for row in view.rows}
        gone = [run_id for run_id in self._sent if run_id not in rows]
        messages: list[dict[str, Any]] = []
        size_bytes = 0
        for run_id in gone:
            del self._sent[run_id]
        for run_id, row in rows.items():
            before = self._sent.get(run_id)
            if before and not _is_changed(row, *before):
                continue
            messages.append(_message(row, with_config=not before or before[0].config != row.config))
            self._sent[run_id] = row, _published_s(row)
            size_bytes += len(json.dumps(messages[-1]))
            if size_bytes >= FRAME_BYTES:
                yield _frame(messages, [], is_complete=False)
                messages, size_bytes = [], 0
        self.is_complete = view.is_complete
        yield _frame(messages, gone, view.is_complete)


def _frame(rows: list[dict[str, Any]], gone: list[str], is_complete: bool) -> Frame:
    return Frame({"protocol": PROTOCOL, "rows": rows, "gone": gone, "is_complete": is_complete})


def _is_changed(row: RunRow, before: RunRow, published_s: float) -> bool:
    """Whether more than the passing of time tells a row from the one that was sent."""
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


def _message(row: RunRow, *, with_config: bool) -> dict[str, Any]:
    """A row for the pipe: what is shown, sorted and searched by, and no more than a list needs."""
    message: dict[str, Any] = {
        "run": row.run.id,
        "is_page_expected": row.is_page_expected,
        "device": row.device,
        "notes": row.notes.as_json(),
        "returns": [min(max(value, -MOST), MOST) for value in row.returns],
    }
    if row.status:
        metrics = dict(list(row.status.metrics.items())[:MAX_METRICS])
        message["status"] = replace(row.status, metrics=metrics).as_fields()
    if with_config:
        values = list(row.config.items())[:MAX_KEYS]
        message["config"] = {key[:VALUE_CHARACTERS]: plain_value(value) for key, value in values}
    return message
