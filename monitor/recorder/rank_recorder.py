"""Records one rank of a run: its page becomes rows, messages and a copy on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...shared import Event, NoPageError, Snapshot
from ...shared.alert_rule import AlertRule
from ...shared.lock import is_held
from ...shared.rank_place import rank_place
from ...shared.run_folder import Run
from ...shared.status import RunStatus, status_of
from ..runs.alerts import Alert
from .events_file import EventsFile, event_line
from .every_row import EveryRow, RowTaker
from .metrics_file import MetricsFile
from .page_copy import complete_copy, drop_rows, remove_page, update_copy, write_outcome
from .page_watch import Page, PageWatch
from .process_exit import ProcessExit, outcome_of_exit
from .rank_alerts import RankAlerts
from .rows import row_of, rows_between

COPY_EVERY_S = 30.0
ALERTS_EVERY_S = 2.0
CRASH_PATIENCE_S = 1.0  # for the exit status of a process that said nothing
NEVER_S = float("-inf")
SAME_MOMENT_S = 1e-5  # files hold microseconds


class RankRecorder:
    """Follows one rank's page. Nothing on disk or in the page stops it: `complain` is told."""

    def __init__(
        self,
        run: Run,
        rank: int,
        every_s: float,
        events: EventsFile,
        *,
        is_alive: Callable[[], bool],
        sinks: Sequence[RowTaker] = (),
        complain: Callable[[str], None] = lambda _: None,
        rules: Callable[[], Sequence[AlertRule]] = tuple,
        tell: Callable[[Alert, int], None] = lambda *_: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_alive` asks whether the rank's process is, `rules` for those of people. `tell` takes
        each new alert, and the rank.
        """
        self.is_finished = False
        self.is_complete = False  # and all that there was to write is written
        self._run, self._rank, self._every_s = run, rank, every_s
        self._events = events
        self._is_alive, self._complain, self._now = is_alive, complain, now
        self._watch = PageWatch(run, rank, now)
        self._is_page_held = False  # by its process's lock, when it was opened
        self._exit: ProcessExit | None = None  # where it may tell the state
        self._rows: MetricsFile | None = None
        self._every_row = EveryRow(run, rank, sinks, now)
        self._event_number = 0
        self._row_s = self._copied_s = self._alerts_s = NEVER_S
        self._alerts = RankAlerts(rank, events, rules, tell)
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
            is_row_due = self._now() - self._row_s >= self._every_s
            # Before each row: the next recorder takes what has a row for decided on.
            if is_row_due or self._now() - self._alerts_s >= ALERTS_EVERY_S:
                self._take_alerts(page)
            with self._complaining():
                self._every_row.take_if_due()
            if is_row_due:
                self._take_rows(page)
            if self._now() - self._copied_s >= COPY_EVERY_S:
                self._copy(page)
        self.is_finished = not is_alive

    def has_lost_its_writer(self) -> bool:
        """Whether the page that is open was let go of by its process, which thus has ended."""
        page = self._watch.page
        return bool(page and self._is_page_held and not is_held(page.reader.fd))

    def status(self) -> RunStatus:
        """How the rank is doing now, or how it has ended."""
        if self.is_finished and self._ended_as:
            return self._ended_as
        page = self._watch.page
        return status_of(self._run, page.reader if page else None, rank=self._rank)

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
            self._take_rows(page)
            self._copy(page)

    @property
    def awaits_exit(self) -> bool:
        """Whether the exit status of the rank's process may still correct how it ended."""
        return self._exit is not None

    def learn_exit(self, patience_s: float) -> None:
        """Correct how the rank ended, if the kernel tells its exit status within `patience_s`."""
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
                write_outcome(self._run, self._rank, page.reader, outcome)
                self._ended_as = status_of(self._run, page.reader, rank=self._rank)
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
            self._take_rows(page)
            self._learn_how_it_ended(page)
        self._tell_a_crash(page)
        with self._complaining():
            self._rows_file().sync()
            if page:
                complete_copy(self._run, self._rank, page.reader)
                snapshot = page.reader.read()
                if snapshot and self._every_row.has_all(snapshot.publish):
                    drop_rows(self._run, self._rank)
            # Not if another process goes on with the run by now: it makes a page of this name.
            if not self._is_alive():
                remove_page(self._run, self._rank, page.reader if page else None)
        with self._complaining():
            self._every_row.close()
        self._is_page_held = False
        if self._exit is None:
            self._watch.close()
        if self._rows:
            self._rows.close()
            self._rows = None

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
                self._event_number, self._row_s, self._copied_s = 0, NEVER_S, NEVER_S
                self._alerts_s = NEVER_S
                self._alerts.begin()
                page = self._watch.page
                self._is_page_held = page is not None and is_held(page.reader.fd)
                if self._exit:
                    self._exit.close()
                place = rank_place(self._run, self._rank)
                follows = page is not None and place.get("ends_with_process")
                self._exit = ProcessExit(page.reader) if page and follows else None
                if page:
                    self._every_row.begin(page)
                self._rewind(page)

    def _rewind(self, page: Page | None) -> None:
        """Drop the rows of a former process that this one's page does not have either."""
        if page is None or page.after_publish is None:
            return
        rows = self._rows_file()
        if page.after_publish == 0 and rows.last.wall_s < page.since_wall_s:
            rows.set_aside()
        else:
            rows.truncate_after(page.after_publish, page.since_wall_s)

    def _take_rows(self, page: Page) -> None:
        """Append what the page has and the file has not: the newest publish, and those before it
        for the time that nobody recorded.
        """
        with self._complaining():
            file, snapshot = self._rows_file(), page.reader.read()
            if snapshot is None:
                return
            newest = row_of(snapshot)
            if file.last.publish >= newest.publish:
                if abs(file.last.wall_s - newest.wall_s) <= SAME_MOMENT_S:
                    return
                file.truncate_after(newest.publish - 1)  # of a process that nobody told us of
            rows = [newest]
            if newest.elapsed_s - file.last.elapsed_s >= 2 * self._every_s:
                history = page.reader.history()
                rows = [*rows_between(history, file.last, newest, self._every_s), newest]
            file.append(rows)
            self._row_s = self._now()
            self._every_row.give_sinks(rows)

    def _take_events(self, page: Page) -> None:
        with self._complaining():
            events = page.reader.events(after=self._event_number)
            num_lost = 0
            with self._complaining():  # the lines are written all the same
                num_lost = self._every_row.num_lost_events([event.number for event in events])
            lines = [event_line(event, self._rank) for event in events]
            if num_lost:
                text = f"{num_lost} messages before the next were overwritten before they were kept"
                gap = Event(0, events[0].wall_ns, "warning", text)
                lines.insert(0, event_line(gap, self._rank))
            self._events.append(lines)
            if events:
                self._event_number = events[-1].number

    def _take_alerts(self, page: Page) -> None:
        """Decide on the rows that came since the last time, and write down what was found."""
        with self._complaining():
            self._alerts_s = self._now()
            self._alerts.take(page, lambda: self._rows_file().last.publish)

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
            status = status_of(self._run, page.reader if page else None, rank=self._rank)
            self._ended_as, self._ended_at = status, self.newest()
            who = f"process {page.reader.header.pid}" if page else "the process"
            text = f"crashed: {who} is gone without a last word"
            line = event_line(Event(0, time.time_ns(), "error", text), self._rank)
            if status.state == "crashed" and not self._events.has_text(line.split(maxsplit=2)[2]):
                self._events.append([line])

    def _copy(self, page: Page) -> None:
        with self._complaining():
            self._copied_s = self._now()
            self._rows_file().sync()
            update_copy(self._run, self._rank, page.reader)

    def _rows_file(self) -> MetricsFile:
        if self._rows is None:
            self._rows = MetricsFile(self._run.metrics_path(self._rank))
        return self._rows

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """What goes wrong inside is told, and tried again the next time."""
        try:
            yield
        # A page is bytes that anyone may write, and a disk may fail in any way.
        except Exception as error:
            # Of a page that is gone, there is nothing more to write.
            self._num_complaints += not isinstance(error, NoPageError)
            self._complain(str(error) or type(error).__name__)
