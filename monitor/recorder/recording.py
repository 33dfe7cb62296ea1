"""The recorder of a run: one process that lives as long as the run does, and a moment longer."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from ...shared.errors import PageError, RunFolderError, UsageError
from ...shared.processes.lock import RECORDER, RunLock, lock_holder
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ...shared.runs.small_file import open_to_append
from ...shared.runs.status import RunStatus, open_page, read_status
from ..notify.message import Message
from ..notify.settings import AlertSettings, OwnSettings
from ..notify.teller import Teller
from .events_file import EventsFile
from .news import News, problem_line
from .page_recorder import PageRecorder
from .sinks import SinkThread, open_sinks

LOOK_EVERY_S = 0.25
NOTICE_AFTER_S = 0.1  # that a process is gone: it may be waiting for the last of its rows
LOCK_PATIENCE_S = 10.0
EXIT_PATIENCE_S = 30.0  # for a process that ended its run and has not exited yet
NICENESS = 10  # the run goes first
STATUS_EVERY_S = 1.0
# Messages about the end are sent before the process of the run may exit, for this long at most: a
# container stops with that process.
TELL_FIRST_S = 1.5
TELL_PATIENCE_S = 30.0


def record(
    run: Run, lock: RunLock, settings: RecorderSettings, say: Callable[[str], None]
) -> RunStatus:
    """Record `run` until it ends, or until SIGINT; returns its status then.

    `lock` is its `recorder_lock`. SIGTERM, which everything gets when a machine goes down, only
    has it write what there is: the run may have a last word yet.
    """
    os.nice(NICENESS)
    complain = Complaints(say)
    sinks = open_sinks(run, settings, complain)
    own_settings = OwnSettings()
    teller = Teller(run, own_settings)
    recorder = Recorder(run, lock, settings, sinks, complain, own_settings, teller.tell)
    recorder.run_until_it_ends(teller)
    lock.release()
    teller.close(TELL_PATIENCE_S)
    recorder.write_notes(teller.take_notes())
    status = read_status(run)
    for sink in sinks:
        sink.close(is_success=status.state not in ("crashed", "failed"))
    recorder.note_sent()
    return status


def is_original(run: Run) -> bool:
    """Whether the run was made in the folder that it is in: what becomes of a copy is no news.

    Another machine may have the same folder, of a shared disk, under another device number.
    """
    try:
        reader = open_page(run)
    except PageError:
        return False
    reader.detach()
    place = reader.header.place
    if place is None or place.path != Path(os.path.abspath(run.folder)):
        return False
    try:
        return place.home_inode == place.path.parent.stat().st_ino
    except OSError:
        return False


class Recorder:
    """Records one run."""

    def __init__(
        self,
        run: Run,
        lock: RunLock,
        settings: RecorderSettings,
        sinks: Sequence[SinkThread],
        complain: Callable[[str], None],
        own_settings: Callable[[], AlertSettings],
        tell: Callable[[Message], None],
    ) -> None:
        """`lock` is that of the recorder; it also says whether the run is alive. `own_settings` are
        those of the user, who gets the messages that are passed to `tell`.
        """
        self._run, self._lock = run, lock
        self._sinks, self._complain = sinks, complain
        self._events = EventsFile(run.events_path)
        self._news = News(run, settings.alerts, self._events, own_settings, self._tell)
        self._tell_people = tell
        self._page: PageRecorder | None = None  # from the first look on
        self._is_wanted, self._is_flush_due = True, False
        self._has_lived = lock.holder() is not None
        self._is_left_behind = run.recording_path.exists()
        self._status_s = float("-inf")
        self._noted: set[str] = set()

    def run_until_it_ends(self, teller: Teller) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._flush_soon)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._end_soon)
        self.note_incompleteness()
        while self.look() and self._is_wanted:
            self._tell_status()
            self.write_notes(teller.take_notes())
            self._sleep()
        if self._page:
            self._page.flush()
            if self._page.status().state == "ended":
                self._learn_exit()
        self.tell_end()
        teller.wait(TELL_FIRST_S)
        self._learn_exit()
        self.note_completeness()

    def _learn_exit(self) -> None:
        """Correct how the run ended by the exit status of its process, which waits for the word
        that the folder is complete.
        """
        deadline = time.monotonic() + EXIT_PATIENCE_S
        while self._page and self._page.awaits_exit:
            self.note_completeness()
            is_resumed = self._lock.holder() is not None
            if is_resumed or not self._is_wanted or time.monotonic() > deadline:
                self._page.forget_exit()
            else:
                self._page.learn_exit(LOOK_EVERY_S)

    def note_incompleteness(self) -> None:
        """Have the run's folder say that not all of the run is in it yet."""
        with suppress(OSError):  # a disk that takes nothing
            # The run's process has made it: without it for a moment, a kill would lose that.
            os.close(open_to_append(self._run.recording_path))

    def note_completeness(self) -> None:
        """Have the run's folder say so, once all of the run is in it."""
        if self.is_complete:
            with suppress(OSError):
                self._run.recording_path.unlink(missing_ok=True)

    def _tell_status(self) -> None:
        """Whether the run stalls or has ended."""
        self._has_lived = True
        if time.monotonic() - self._status_s < STATUS_EVERY_S:
            return
        self._status_s = time.monotonic()
        self.write_notes(self._news.problems())
        self._tell_news()

    def tell_end(self) -> None:
        """Send messages about the end. Does nothing if the run ended a while ago: they were sent
        then.
        """
        if not self._page or not (self._has_lived or self._is_left_behind):
            return
        self._tell_news()

    def _tell(self, message: Message) -> None:
        if self._has_lived or is_original(self._run):
            self._tell_people(message)

    def _tell_news(self) -> None:
        assert self._page
        # Pages and folders are bytes that anyone may write, and a disk may fail in any way.
        try:
            status = self._page.status()
            if status.state == "ended" and self._page.awaits_exit:
                return
            self._news.take_status(status, *self._page.newest())
        except Exception as error:
            self._complain(str(error) or type(error).__name__)

    def write_notes(self, notes: Iterable[str]) -> None:
        """Among the events, each text once."""
        new = [note for note in notes if note not in self._noted]
        self._noted.update(new)
        new = [note for note in new if not self._events.has_text(note)]
        with suppress(OSError):
            self._events.append(map(problem_line, new))

    @property
    def is_complete(self) -> bool:
        """Whether the run has ended and all of it is in its folder."""
        return self._page is not None and self._page.is_finished and self._page.is_complete

    def _sleep(self) -> None:
        """Until the next look: at once when a process has let go of its page, which costs less to
        ask for than a look.
        """
        deadline = time.monotonic() + LOOK_EVERY_S
        is_gone = False
        while not is_gone and self._is_wanted and time.monotonic() < deadline:
            time.sleep(NOTICE_AFTER_S)
            is_gone = self._page is not None and self._page.has_lost_its_writer()

    def look(self) -> bool:
        """Look once; False once all is written of a run that has ended."""
        if not self._run.folder.is_dir():
            return False
        is_alive = self._lock.holder() is not None
        self._page = self._page or PageRecorder(
            self._run,
            self._events,
            is_alive=lambda: self._lock.holder() is not None,
            sinks=self._sinks,
            complain=self._complain,
            rules=self._news.rules,
            tell=self._news.take_alert,
        )
        self._page.look()
        if self._is_flush_due:
            self._is_flush_due = False
            self._page.flush()
        return is_alive or self._lock.holder() is not None

    def note_sent(self) -> None:
        """Keep for the next recorder how far the sinks are, once they are closed."""
        if self._page:
            self._page.note_sent()

    def _flush_soon(self, number: int, frame: FrameType | None) -> None:
        self._is_flush_due = True

    def _end_soon(self, number: int, frame: FrameType | None) -> None:
        self._is_wanted = False


class Complaints:
    """Says each thing once, at most `MOST` of them, and is never itself a reason to stop."""

    MOST = 1000

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._said and len(self._said) < self.MOST:
            self._said.add(text)
            with suppress(OSError, ValueError):
                self._say(text)


def recorder_lock(run: Run, patience_s: float = 0.0) -> RunLock:
    """Take the lock of the recorder. Waits up to `patience_s` for another recorder, which may be
    about to end if the run was resumed at once.

    Raises UsageError if that recorder still holds the lock.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return RunLock(run.lock_path, RECORDER)
        except RunFolderError:
            other = lock_holder(run.lock_path, RECORDER)
            if other is None and time.monotonic() >= deadline:
                raise
            if other and time.monotonic() >= deadline:
                text = f"{run.id} is already recorded, by process {other.pid}"
                raise UsageError(text) from None
        time.sleep(LOOK_EVERY_S)
