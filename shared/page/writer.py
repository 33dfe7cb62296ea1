"""The writing end of a page."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, SupportsFloat

from ..processes.host import boot_id, host_name, process_start
from ..runs.outcome import Outcome, State
from . import layout as at
from .events import Event, EventWriter, Level
from .folder_place import FolderPlace
from .header import Header
from .page_file import (
    PageFile,
    create_page_file,
    create_unnamed_page_file,
    publish_page_file,
    remove_page_file,
    save_page_copy,
)
from .phase import PhaseWriter
from .records import Moment, Records
from .row_ring import RowRingWriter
from .schema import Metric, kept_name

DEFAULT_MAX_METRICS = at.MAX_METRICS

OnPhase = Callable[[str, int | None, int | None, str, float | None], None]
OnEvent = Callable[[Level, str], None]


class Clock(Protocol):
    """Tells the time, as the module `time` does. An import replays rows at their own times."""

    def time_ns(self) -> int: ...

    def monotonic_ns(self) -> int: ...


@dataclass(frozen=True)
class Beginning:
    """Where a resumed run goes on: the publish number of its former page that it goes on from, or
    the newest that was recorded before it.

    `rows` are the records of that page's ring up to there, which may not be on disk yet;
    `monotonic_ns` is the time of the publish and `latest` the last value of each metric then.
    """

    publish: int
    header: Header
    metrics: list[Metric]
    events: list[Event]
    rows: list[bytes]
    monotonic_ns: int
    latest: dict[str, float]


class MetricsWriter:
    """Publishes numbers into one page; after its creation nothing it does can block the caller.

    For one thread at a time. In a forked child its methods do nothing: the page is the parent's.
    """

    def __init__(
        self,
        page: PageFile,
        header: Header,
        metrics: Iterable[Metric],
        beginning: Beginning | None,
        clock: Clock = time,
    ) -> None:
        """Fill the new page `page`. `create` is the way in."""
        layout = header.layout
        self.path, self.fd, self.header = page.path, page.fd, header
        self._lock, self._clock = page.lock, clock
        self.num_publishes, self._has_published = 0, False
        self._mapping, self._bytes = page.mapping, memoryview(page.mapping)
        self._words = self._bytes.cast("Q")
        self._schema, slots = layout["SCHEMA"], layout["SNAPSHOT"]
        self._slot_starts = (slots.offset, slots.offset + slots.record_bytes)
        self._rows = RowRingWriter(page.mapping, layout["ROWS"])
        self._outcome = layout["OUTCOME"]
        self._records = Records(layout.max_metrics)
        self._num_rejected = self._revision = 0
        self.on_phase: OnPhase | None = None  # called with every phase, too
        self.on_event: OnEvent | None = None  # called with every event, too

        self._events = EventWriter(self._bytes, layout["EVENTS"])
        if beginning:
            self._begin_with(beginning)
        zero_ns = self.header.created_monotonic_ns
        self._phase = PhaseWriter(self._bytes, layout["PHASE"], zero_ns)
        for metric in metrics:
            self.register(metric)
        self._write_header()
        self._is_open = True
        _open_writers.add(self)

    @classmethod
    def create(
        cls,
        path: Path | None,
        run_id: str,
        metrics: Iterable[Metric] = (),
        *,
        publish_interval_s: float,
        max_metrics: int = DEFAULT_MAX_METRICS,
        beginning: Beginning | None = None,
        rows_bytes: int = at.ROWS_BYTES,
        folder: Path | None = None,
        clock: Clock = time,
    ) -> MetricsWriter:
        """Make a page at `path`, or one without a name when it is None.

        Readers call the writer stalled when several `publish_interval_s` pass without a publish.
        A `beginning` is where a resumed run goes on. `rows_bytes` is the
        room for rows that wait for the recorder, `folder` that of the run. All times are those of
        `clock`.
        Raises NoRoomError when the memory cannot be had, PageError when the folder cannot be used.
        """
        header = Header(
            run_id=run_id,
            pid=os.getpid(),
            process_start=process_start(os.getpid()),
            boot_id=boot_id(),
            host=host_name(),
            created_wall_ns=clock.time_ns(),
            created_monotonic_ns=clock.monotonic_ns(),
            publish_interval_s=publish_interval_s,
            layout=at.make_layout(max_metrics, rows_bytes=rows_bytes),
            place=FolderPlace.of(folder) if folder else None,
        )
        size_bytes = header.layout.page_bytes
        if path is None:
            return cls(create_unnamed_page_file(size_bytes), header, metrics, beginning, clock)
        building = create_page_file(path, size_bytes)
        try:
            writer = cls(building, header, metrics, beginning, clock)
            writer.path = publish_page_file(building, path).path
        except BaseException:
            remove_page_file(building)
            raise
        return writer

    def register(self, metric: Metric) -> bool:
        """Announce a metric; False if the page is full; readers see the number refused."""
        records = self._records
        known = records.places.get(metric.name)
        if known is not None:
            return known < len(records.names)
        if metric.step_metric not in ("", metric.name):
            self.register(Metric(metric.step_metric))
        place = len(records.names)
        if not records.add(metric.name, kept_name(metric.name)):
            self._num_rejected += 1
            self._set_schema_word(at.SCHEMA_REJECTED_OFFSET, self._num_rejected)
            return False
        if len(records.names) == place:
            return True
        self._write_metric(place, metric)
        self._set_schema_word(at.SCHEMA_COUNT_OFFSET, place + 1)
        return True

    def describe(self, metric: Metric) -> bool:
        """Register `metric`, or replace the description of one with its name. False if the page is
        full.
        """
        if not self.register(metric):
            return False
        self._write_metric(self._records.places[metric.name], metric)
        self._revision += 1
        self._set_schema_word(at.SCHEMA_REVISION_OFFSET, self._revision)
        return True

    def _write_metric(self, place: int, metric: Metric) -> None:
        schema, step_place = self._schema, -1
        if metric.step_metric and self.register(Metric(metric.step_metric)):
            step_place = self._records.places[metric.step_metric]
        record = metric.encode(step_place)
        start = schema.offset + at.SCHEMA_HEAD_BYTES + place * schema.record_bytes
        self._bytes[start : start + len(record)] = record

    def _write_header(self) -> None:
        self._bytes[: at.HEADER_BYTES] = self.header.encode()
        self._words[at.READY_OFFSET // 8] = at.READY

    def _set_schema_word(self, offset: int, word: int) -> None:
        self._words[(self._schema.offset + offset) // 8] = word

    def _begin_with(self, beginning: Beginning) -> None:
        """Take over a former page: its names, events, last values and clock, and the rows of its
        ring, some of which the recorder may not have written yet.
        """
        for metric in beginning.metrics:
            self.register(metric)
        for event in beginning.events:
            self._events.put(event)
        for row in beginning.rows:
            self._rows.append(row[8:])
        for name, value in beginning.latest.items():
            self._records.set(name, value)
        self.num_publishes = beginning.publish
        self.header = dataclasses.replace(
            self.header,
            created_wall_ns=beginning.header.created_wall_ns,
            created_monotonic_ns=self._clock.monotonic_ns() - beginning.monotonic_ns,
        )

    def publish(
        self, values: Mapping[str, SupportsFloat], iteration: int = -1, env_steps: int = -1
    ) -> None:
        """Make `values` the newest snapshot and a row of the ring, all of them at once.

        Names that are not given keep their value in the snapshot and are not written in the row;
        new names take the room that is left; values that are not numbers are skipped. A negative
        `iteration` or `env_steps` means there is none.
        """
        if not self._is_open:
            return
        number = self.num_publishes + 1
        wall_ns = self._clock.time_ns()
        elapsed_ns = self._clock.monotonic_ns() - self.header.created_monotonic_ns
        record = self._records.of_all(values, number, wall_ns, elapsed_ns, iteration, env_steps)
        if record is None:
            moment = Moment(number, wall_ns, elapsed_ns, iteration, env_steps)
            latest, row = self._records_of_some(values, moment)
        else:
            latest = row = record
        slot = self._slot_starts[number % 2]
        self._mapping[slot + 8 : slot + 8 + len(latest)] = latest
        self._words[slot // 8] = number
        self._rows.append(row)
        self.num_publishes = number
        if not self._has_published:
            self._has_published = True
            self._rows.note_first(elapsed_ns, env_steps)

    def _records_of_some(
        self, values: Mapping[str, SupportsFloat], moment: Moment
    ) -> tuple[bytes, bytes]:
        """`Records.of_some` with new names registered and what is no number left out."""
        try:
            return self._records.of_some(values, moment)
        except (KeyError, TypeError, ValueError, OverflowError):
            numbers = {}
            for name, value in values.items():
                with contextlib.suppress(TypeError, ValueError, OverflowError):
                    numbers[name] = float(value)
                    self.register(Metric(name))
            return self._records.of_some(numbers, moment)

    def latest(self, name: str) -> float:
        """The newest value of a metric, also from the page gone on from; NaN: there is none."""
        return self._records.latest(name)

    def phase(
        self,
        name: str,
        done: int | None = None,
        total: int | None = None,
        unit: str = "",
        left_s: float | None = None,
    ) -> None:
        """Say what the process does now, one of `PHASES`: `evaluating`, 37 of 100 `episodes`; and
        about how many seconds are left, where that is known.

        Saying so again is a sign of life: readers do not call a run stalled that gives one at
        least every few publish intervals. Raises ValueError for any other name.
        """
        if self._is_open:
            self._phase.set(name, done, total, unit, left_s)
            if self.on_phase:
                self.on_phase(name, done, total, unit, left_s)

    def beat(self) -> None:
        """A sign of life where there is nothing to publish: a store of eight bytes."""
        if self._is_open:
            self._phase.beat()

    def event(self, level: Level, text: str, env_steps: int = -1) -> None:
        """Add a message to the page's ring of events."""
        if self._is_open:
            self._events.append(level, text, env_steps, self._clock.time_ns())
            if self.on_event:
                self.on_event(level, text)

    def finish(
        self, state: State, exit_code: int, message: str = "", *, is_provisional: bool = False
    ) -> None:
        """Write how the run ended; it is no longer running, whatever its lock says. The arguments
        are those of `Outcome`.
        """
        if not self._is_open:
            return
        outcome = Outcome(state, exit_code, message, self._clock.time_ns(), is_provisional)
        start = self._outcome.offset
        self._bytes[start : start + at.OUTCOME_BYTES] = outcome.encode()

    def save_copy(self, path: Path) -> None:
        """Write the page to `path` on disk, in one step, zeros left out as holes."""
        save_page_copy(
            lambda size, offset: self._bytes[offset : offset + size],
            len(self._bytes),
            path,
        )

    def remove(self) -> None:
        """Take the page off memory; those who read it keep what they have open."""
        if not self._is_open:
            return
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """Write nothing more, and leave the page where it is, for others to keep and to remove."""
        if not self._is_open:
            return
        self._is_open = False
        if self._lock:
            self._lock.release()
        if self.fd >= 0:
            os.close(self.fd)


_open_writers: weakref.WeakSet[MetricsWriter] = weakref.WeakSet()


def _forget_the_parents_pages() -> None:
    for writer in _open_writers:
        writer._is_open = False


os.register_at_fork(after_in_child=_forget_the_parents_pages)
