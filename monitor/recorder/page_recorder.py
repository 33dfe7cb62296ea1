"""Records the page of a run: it becomes rows, messages and a copy on disk.

Since version 6.15, Linux gives the exit status of a process to whoever holds a pidfd of it; the
recorder asks for it.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ...shared import Event, MetricsReader, NoPageError, Outcome, Snapshot
from ...shared.page.page_place import page_place
from ...shared.processes.host import boot_id, process_start
from ...shared.processes.lock import is_held
from ...shared.rows.curves import Curves
from ...shared.runs.alert_rule import AlertRule
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus, status_of
from ..runs.reading.alerts import MARK, Alert, alerts_in
from .alert_watch import AlertWatch
from .events_file import EventsFile, event_line
from .every_row import EveryRow, RowTaker
from .page_copy import complete_copy, drop_rows, remove_page, update_copy, write_outcome
from .page_watch import Page, PageWatch

# `struct pidfd_info` of linux/pidfd.h: mask (u64), cgroupid (u64), eleven numbers of processes,
# users and groups (u32), exit_code (i32). The kernel fills in the fields of `mask` that it knows.
PIDFD_INFO = struct.Struct("=QQ11Ii")
PIDFD_INFO_EXIT = 1 << 3
PIDFD_GET_INFO = 3 << 30 | PIDFD_INFO.size << 16 | 0xFF << 8 | 11  # _IOWR(0xFF, 11, pidfd_info)


class ProcessExit:
    """Waits for the exit status of the process that writes a page."""

    def __init__(self, reader: MetricsReader) -> None:
        """A process of another machine or container, and one that has ended, has no status here."""
        self._pidfd = -1
        header = reader.header
        # If process 1 of a container exits, all others in the container end too.
        if header.pid > 1 and header.boot_id == boot_id() and hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._pidfd = os.pidfd_open(header.pid)
            if process_start(header.pid) != header.process_start:
                self.close()

    def code(self, patience_s: float) -> int | None:
        """The exit code, or minus the number of the signal that killed it. None if the kernel does
        not say, or if the parent has not collected the process within `patience_s`.
        """
        if self._pidfd < 0:
            return None
        info = bytearray(PIDFD_INFO.pack(PIDFD_INFO_EXIT, *[0] * 13))
        try:
            fcntl.ioctl(self._pidfd, PIDFD_GET_INFO, info)  # fails at once before Linux 6.13
            if not PIDFD_INFO.unpack(info)[0] & PIDFD_INFO_EXIT:
                collected = select.poll()
                collected.register(self._pidfd, 0)  # POLLHUP alone
                collected.poll(1000 * patience_s)
                PIDFD_INFO.pack_into(info, 0, PIDFD_INFO_EXIT, *[0] * 13)
                fcntl.ioctl(self._pidfd, PIDFD_GET_INFO, info)
        except OSError:
            self.close()
            return None
        mask, *_, status = PIDFD_INFO.unpack(info)
        return os.waitstatus_to_exitcode(status) if mask & PIDFD_INFO_EXIT else None

    def close(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def outcome_of_exit(code: int, said: Outcome | None, wall_ns: int) -> Outcome | None:
    """The outcome that a process's exit `code` means if it contradicts the outcome that the process
    `said`. None if the latter is right, or if only the killing signal is known.
    """
    if said and said.state != "ended" and said.exit_code == (code if code >= 0 else 128 - code):
        return None
    if code >= 0:
        message = f"exit code {code}" if code else ""
        return Outcome("failed" if code else "finished", code, message, wall_ns)
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    if code in (-signal.SIGINT, -signal.SIGTERM):
        return Outcome("stopped", 128 - code, f"by {name}", wall_ns)
    if said is None:  # it crashed
        return None
    return Outcome("failed", 128 - code, f"killed by {name} as it exited", wall_ns)


COPY_EVERY_S = 30.0
CRASH_PATIENCE_S = 1.0  # for the exit status of a process that said nothing
NEVER_S = float("-inf")


class PageAlerts:
    """Remembers which rows were decided on, and what could not be written down yet."""

    def __init__(
        self,
        events: EventsFile,
        rows_path: Path,
        rules: Callable[[], Sequence[AlertRule]],
        tell: Callable[[Alert], None],
    ) -> None:
        """`rules` are those of people. `tell` takes each new alert."""
        self._events, self._rows_path = events, rows_path
        self._rules, self._tell = rules, tell
        self._found: list[Alert] = []
        self._curves: Curves | None = None
        self.begin()

    def begin(self) -> None:
        """Continue with the page of another process."""
        self.close()
        self._watch: AlertWatch | None = None
        self._checked = 0  # the publish up to which there are no new alerts

    def take(self, page: Page, last_row: Callable[[], int]) -> None:
        """Decide on the rows that came since the last time. A former recorder has decided on those
        up to the publish `last_row`. Raises PageError and OSError; the next call then writes the
        alerts that this one could not write.
        """
        snapshot = page.reader.read()
        if snapshot and snapshot.publish != self._checked:
            self._checked = snapshot.publish
            if self._watch is None:
                self._watch = AlertWatch(last_row(), self._sent_before())
            self._watch.follow(self._rules())
            phase = page.reader.phase()
            self._curves = self._curves or Curves(self._rows_path, page.reader)
            history = self._curves.history()
            self._found += self._watch.take(
                page.reader.schema(), history, phase.name if phase else ""
            )
        self._write()

    def close(self) -> None:
        """Let go of the file of rows."""
        if self._curves:
            self._curves.close()
        self._curves = None

    def _write(self) -> None:
        lines = {event_line(alert.as_event()): alert for alert in self._found}
        new = list(lines)  # messages are sent even if the disk is full
        try:
            new = self._events.append(lines)
            self._found = []
        finally:
            for line in new:
                self._tell(lines[line])

    def _sent_before(self) -> Sequence[Alert]:
        """Alerts of former recorders, as far as the end of the file still has them."""
        return alerts_in(line for line in self._events.lines() if f"  {MARK}" in line)


class PageRecorder:
    """Follows the page of a run. Errors of the disk and the page do not stop it; `complain` gets
    them.
    """

    def __init__(
        self,
        run: Run,
        events: EventsFile,
        *,
        is_alive: Callable[[], bool],
        sinks: Sequence[RowTaker] = (),
        complain: Callable[[str], None] = lambda _: None,
        rules: Callable[[], Sequence[AlertRule]] = tuple,
        tell: Callable[[Alert], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_alive` returns whether the run's process is alive, `rules` the alert rules of people.
        `tell` takes each new alert.
        """
        self.is_finished = False
        self.is_complete = False  # and all that there was to write is written
        self._run, self._events = run, events
        self._is_alive, self._complain, self._now = is_alive, complain, now
        self._watch = PageWatch(run, now)
        self._is_page_held = False  # by its process's lock, when it was opened
        self._exit: ProcessExit | None = None  # where it may tell the state
        self._every_row = EveryRow(run, sinks, now)
        self._event_number = 0
        self._copied_s = NEVER_S
        self._alerts = PageAlerts(events, run.rows_path, rules, tell)
        self._ended_as: RunStatus | None = None
        self._ended_at: tuple[str, Snapshot | None] = "", None
        self._num_complaints = 0

    def look(self) -> None:
        """Write what is due; all that is left once the process is gone."""
        is_alive = self._is_alive()
        if not is_alive and self.is_finished:
            self.learn_exit(0.0)
            return
        num_complaints = self._num_complaints
        self._attach(is_alive)
        page = self._watch.page
        if not is_alive:
            self._finish(page)
            self.is_complete = num_complaints == self._num_complaints
        elif page:
            self._take_events(page)
            with self._complaining():
                if self._every_row.is_due():
                    # Before the rows: the next recorder takes those in the file for decided on.
                    self._take_alerts(page)
                    self._every_row.take()
            if self._now() - self._copied_s >= COPY_EVERY_S:
                self._copy(page)
        self.is_finished = not is_alive

    def has_lost_its_writer(self) -> bool:
        """Whether the page that is open was let go of by its process, which thus has ended."""
        page = self._watch.page
        return bool(page and self._is_page_held and not is_held(page.reader.fd))

    def status(self) -> RunStatus:
        """How the run is doing now, or how it has ended."""
        if self.is_finished and self._ended_as:
            return self._ended_as
        page = self._watch.page
        return status_of(self._run, page.reader if page else None)

    def newest(self) -> tuple[str, Snapshot | None]:
        """Which process's page is open or was the last, and its last publish."""
        page = self._watch.page
        return (str(page.reader.header.identity), page.reader.read()) if page else self._ended_at

    def flush(self) -> None:
        """Write everything there is, due or not."""
        page = self._watch.page
        if page and not self.is_finished:
            self._take_events(page)
            self._take_alerts(page)
            with self._complaining():
                self._every_row.take_all()
            self._copy(page)

    @property
    def awaits_exit(self) -> bool:
        """Whether the exit status of the run's process may still correct how it ended."""
        return self._exit is not None

    def learn_exit(self, patience_s: float) -> None:
        """Correct how the run ended, if the kernel gives its exit status within `patience_s`."""
        page = self._watch.page
        if page is None or self._exit is None:
            return
        with self._complaining():
            said = page.reader.outcome()
            code = self._exit.code(patience_s)
            if code is None:
                return
            wall_ns = said.wall_ns if said else time.time_ns()
            if outcome := outcome_of_exit(code, said, wall_ns):
                write_outcome(self._run, page.reader, outcome)
                self._ended_as = status_of(self._run, page.reader)
        self.forget_exit()

    def forget_exit(self) -> None:
        """Leave it at what the process said."""
        if self._exit:
            self._exit.close()
            self._exit = None
        if self.is_finished:
            self._watch.close()

    def _finish(self, page: Page | None) -> None:
        """Write the last of a process that is gone, and take its page off memory."""
        if page:
            self._take_events(page)
            self._take_alerts(page)
            with self._complaining():
                self._every_row.take_all()
            self._learn_how_it_ended(page)
        self._tell_a_crash(page)
        with self._complaining():
            if page:
                complete_copy(self._run, page.reader)
                snapshot = page.reader.read()
                if snapshot and self._every_row.last_publish() == snapshot.publish:
                    drop_rows(self._run)
            # Not if another process goes on with the run by now: it makes a page of this name.
            if not self._is_alive():
                remove_page(self._run, page.reader if page else None)
        with self._complaining():
            self._alerts.close()
            self._every_row.close()
        self._is_page_held = False
        if self._exit is None:
            self._watch.close()

    def note_sent(self) -> None:
        """Keep for the next recorder how far the sinks are that were closed."""
        with self._complaining():
            self._every_row.note_sent()
        with self._complaining():
            self._every_row.close()

    def _attach(self, is_alive: bool) -> None:
        """Keep the right page open; a new process's rows follow those that its page holds."""
        with self._complaining():
            if self._watch.look(is_alive):
                self._event_number, self._copied_s = 0, NEVER_S
                self._alerts.begin()
                page = self._watch.page
                self._is_page_held = page is not None and is_held(page.reader.fd)
                if self._exit:
                    self._exit.close()
                place = page_place(self._run)
                follows = page is not None and place.get("ends_with_process")
                self._exit = ProcessExit(page.reader) if page and follows else None
                if page:
                    self._every_row.begin(page)

    def _take_events(self, page: Page) -> None:
        with self._complaining():
            events = page.reader.events(after=self._event_number)
            num_lost = 0
            with self._complaining():  # the lines are written all the same
                num_lost = self._every_row.num_lost_events([event.number for event in events])
            lines = [event_line(event) for event in events]
            if num_lost:
                text = f"{num_lost} messages before the next were overwritten before they were kept"
                gap = Event(0, events[0].wall_ns, "warning", text)
                lines.insert(0, event_line(gap))
            self._events.append(lines)
            if events:
                self._event_number = events[-1].number

    def _take_alerts(self, page: Page) -> None:
        """Decide on the rows that came since the last time, and write down what was found."""
        with self._complaining():
            self._alerts.take(page, self._every_row.last_publish)

    def _learn_how_it_ended(self, page: Page) -> None:
        """Ask for the exit status of a process that is gone without a word. One that wrote a
        provisional outcome exits once the recorder is done: it is asked for later.
        """
        outcome = None
        with self._complaining():
            outcome = page.reader.outcome()
            if outcome is None:
                self.learn_exit(CRASH_PATIENCE_S)
        if outcome is None or not outcome.is_provisional:
            self.forget_exit()

    def _tell_a_crash(self, page: Page | None) -> None:
        """The line that the process itself could not write."""
        with self._complaining():
            status = status_of(self._run, page.reader if page else None)
            self._ended_as, self._ended_at = status, self.newest()
            who = f"process {page.reader.header.pid}" if page else "the process"
            text = f"crashed: {who} ended without saying why"
            line = event_line(Event(0, time.time_ns(), "error", text))
            if status.state == "crashed" and not self._events.has_text(line.split(maxsplit=2)[2]):
                self._events.append([line])

    def _copy(self, page: Page) -> None:
        with self._complaining():
            self._copied_s = self._now()
            update_copy(self._run, page.reader)

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Errors inside are reported, and the work is tried again the next time."""
        try:
            yield
        # A page is bytes that anyone may write, and a disk may fail in any way.
        except Exception as error:
            # A page that is gone has nothing more to write.
            self._num_complaints += not isinstance(error, NoPageError)
            self._complain(str(error) or type(error).__name__)
