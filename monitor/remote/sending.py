"""The end of a stream on the run's own machine."""

from __future__ import annotations

import dataclasses
import select
import sys
import time
from typing import Any, BinaryIO

from ...shared.errors import PageError
from ...shared.page.header import PageIdentity
from ...shared.runs.run_folder import Run
from ...shared.runs.run_notes import RunNotes
from ...shared.runs.status import open_page
from ..recorder.events_file import event_line
from ..runs.reading.alerts import Alert
from ..runs.reading.run_description import NO_DESCRIPTION
from ..runs.reading.run_poller import RunPoller
from .frames import PROTOCOL, Frame, write_frame
from .page_blocks import PageBlocks

MACHINE_EVERY_S = 2.0  # and the console
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
        self._poller = RunPoller(run, reads_rows=False)
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
            head["description"] = dataclasses.asdict(view.description)
        if time.monotonic() - self._sampled_s >= MACHINE_EVERY_S:
            self._sampled_s = time.monotonic()
            sample = self._poller.machine()
            head["machine"] = sample.as_json() if sample else None
            head["is_recorded"] = view.is_recorded
            head["knobs"] = dataclasses.asdict(view.knobs) if view.knobs else None
            if view.alerts != self._alerts:
                self._alerts = view.alerts
                newest = view.alerts[-NUM_ALERTS:]
                head["alerts"] = [event_line(alert.as_event()) for alert in newest]
            if view.console is not self._console:
                self._console = view.console
                lines = view.console[-CONSOLE_LINES:]
                head["console"] = [line[:LINE_CHARACTERS] for line in lines]
        return head
