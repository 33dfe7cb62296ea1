"""The end of a stream on the watcher's machine."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from ...shared.errors import PageError
from ...shared.page.reader import MetricsReader
from ...shared.rows.curves import Curves
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus, speed_at, with_numbers
from ...shared.text.harmless import one_line
from ..runs.machine.machine import MachineSample
from ..runs.reading.alerts import alerts_in
from ..runs.reading.run_view import RunView, view_of
from .connection import Connection
from .frames import Frame
from .host import RemoteName, stream_command
from .messages import PageMessage, read_head, read_machine
from .page_blocks import PageMirror
from .run_elsewhere import RunElsewhere

AGAIN_AFTER_S = 5.0


class RemoteRun:
    """A run on another machine as a source of views. `start` keeps it up to date in a thread,
    connecting anew when the connection is lost; `connect` first, where it is to be known at once
    whether that works, and where ssh may ask for a password.
    """

    def __init__(self, name: RemoteName, known: RunStatus | None = None) -> None:
        """`known` is its status by another way, shown until it tells its own."""
        self.name = name
        self.run: Run = RunElsewhere(name)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._connection: Connection | None = None
        self._mirror: PageMirror | None = None
        self._reader: MetricsReader | None = None
        self._curves: Curves | None = None
        self._identity: object = None
        self._view = RunView(known or RunStatus(str(name), "running"), is_page_expected=bool(known))
        self._seen_s = time.monotonic()
        self._trouble = f"connecting to {name.host}"
        self._machine: MachineSample | None = None

    def connect(self, *, may_ask: bool = True) -> RunStatus:
        """Reach the host and return the run's status. Raises UsageError when host or run are wrong,
        OperantError when the connection fails otherwise.
        """
        self._connection = Connection(self.name.host, stream_command(self.name, may_ask=may_ask))
        try:
            frame = self._connection.first_frame()
            run = read_head(frame.head).run or self.name.run
            self.run = RunElsewhere(self.name._replace(run=run))
            self._take(frame)
        except BaseException:
            self._hang_up()
            raise
        return self._view.status

    def start(self) -> None:
        """Follow the stream in a thread until `close`."""
        threading.Thread(target=self._follow, name="remote", daemon=True).start()

    def poll(self) -> RunView:
        """The newest view, its age brought up to now."""
        with self._lock:
            since_s = time.monotonic() - self._seen_s
            view, trouble = self._view, self._trouble
        status = view.status
        if status.age_s is not None:
            status = replace(status, age_s=status.age_s + since_s)
        if trouble:
            status = replace(status, message=trouble, eta_s=None)
        return replace(view, status=status)

    def machine(self) -> MachineSample | None:
        """What the run's own machine does for it."""
        with self._lock:
            return self._machine

    def close(self) -> None:
        self._ended.set()
        self._hang_up()

    def _follow(self) -> None:
        """Take frames; when they end, say so, and connect anew as often as it takes."""
        while not self._ended.is_set():
            try:
                if self._connection is None:
                    self.connect(may_ask=False)
                self._take_all()
                trouble = f"lost the connection to {self.name.host}; trying again"
            # Whatever comes from another machine must not end the monitor.
            except Exception as error:
                trouble = f"{one_line(str(error), 300) or type(error).__name__}; trying again"
            self._hang_up()
            with self._lock:
                self._trouble = trouble
            self._ended.wait(AGAIN_AFTER_S)
        self._let_go_of_page()

    def _take_all(self) -> None:
        assert self._connection
        for frame in self._connection.frames():
            if self._ended.is_set():
                return
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        """Bring status and page up to what the frame says."""
        head = read_head(frame.head)
        status = head.status.of_run(self.run.id)
        before = self._view
        fields: dict[str, Any] = {
            "console": before.console if head.console is None else tuple(head.console),
            "alerts": before.alerts if head.alerts is None else alerts_in(head.alerts),
            "is_recorded": before.is_recorded if head.is_recorded is None else head.is_recorded,
            "knobs": before.knobs if head.knobs is None else head.knobs.knobs(),
            "num_media_elsewhere": head.num_media,
            "notes": before.notes if head.notes is None else head.notes.notes(),
            "description": (
                before.description if head.description is None else head.description.description()
            ),
        }
        view = replace(before, status=status, is_page_expected=head.is_page_expected, **fields)
        if head.page:
            is_new = self._mirrored(head.page, frame.body)
            if not head.page.is_partial:
                view = replace(self._view_of_page(status, None if is_new else before), **fields)
        with self._lock:
            self._view, self._trouble, self._seen_s = view, "", time.monotonic()
            if "machine" in frame.head:
                self._machine = read_machine(frame.head["machine"])

    def _mirrored(self, page: PageMessage, changes: bytes) -> bool:
        """Bring the copy of the page up to date; whether it is another page than before."""
        is_new = page.identity != self._identity
        if is_new:
            self._let_go_of_page()
            self._mirror, self._identity = PageMirror(page.bytes), page.identity
        assert self._mirror
        self._mirror.apply(changes)
        return is_new

    def _view_of_page(self, status: RunStatus, before: RunView | None) -> RunView:
        """What the page says. An error is shown only if there is nothing else to show: a block may
        be torn, and the next reading repairs it; a page of another version stays closed.
        """
        assert self._mirror
        try:
            self._reader = self._reader or self._mirror.open()
            status = _same_publish(status, self._reader)
            self._curves = self._curves or Curves(None, self._reader)
            return view_of(self._reader, self._curves, status, before)
        except PageError as error:
            message = status.message or f"{self.name.host}: {one_line(str(error), 200)}"
            return replace(before or RunView(status), status=replace(status, message=message))

    def _let_go_of_page(self) -> None:
        if self._reader:
            self._reader.detach()
        if self._mirror:
            self._mirror.close()
        self._reader = self._mirror = self._identity = self._curves = None

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.close()


def _same_publish(status: RunStatus, reader: MetricsReader) -> RunStatus:
    """The status was taken a moment before the page: bring its numbers up to the page's."""
    snapshot = reader.read()
    if snapshot is None:
        return status
    return with_numbers(status, snapshot, speed_at(reader, snapshot, status.is_alive))
