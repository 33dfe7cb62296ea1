"""The reading end of a page."""

from __future__ import annotations

import itertools
import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import PageError
from ..processes.host import boot_id
from ..runs.outcome import Outcome
from ..runs.owners import Owners, check_file, own
from ..runs.small_file import open_regular
from ..runs.speed import WINDOW_S
from . import layout as at
from .events import Event
from .header import Header
from .phase import Phase
from .row_ring import RingRows, RowRingReader
from .schema import Metric, decode_metrics

ATTEMPTS = 100
NEWEST_BYTES = 256 << 10  # of the ring of rows, to tell the speed from; 1000 rows of 24 metrics


@dataclass(frozen=True)
class Snapshot:
    """All numbers of one publish. NaN was never written; a negative count does not apply."""

    publish: int
    wall_ns: int
    monotonic_ns: int
    iteration: int
    env_steps: int
    metrics: dict[str, float] = field(default_factory=dict)


class MetricsReader:
    """Reads one page, whoever writes it and whatever becomes of the file.

    It reads with `pread`: a page cut short under a mapping would kill the reader. Every method
    raises PageError, and nothing else, when the page does not hold what it should.
    """

    def __init__(self, fd: int) -> None:
        """Read the page behind the descriptor `fd`, which the reader closes in `detach`."""
        self.fd = fd
        self.header = Header.decode(
            self._pread(at.HEADER_BYTES, 0, whole=False), os.fstat(fd).st_size
        )
        layout = self.header.layout
        self._slots, self._schema = layout["SNAPSHOT"], layout["SCHEMA"]
        self._rows = RowRingReader(self._pread, layout["ROWS"])
        self._newest: Snapshot | None = None
        self._metrics: list[Metric] = []
        self._revision = 0

    @classmethod
    def attach(
        cls, path: Path, owners: Owners | None = None, *, follow: bool = False
    ) -> MetricsReader:
        """Open the page at `path`, which one of `owners` must have written: by default this user
        or root. It may be a link only with `follow`, as in `/proc/<pid>/fd`.
        """
        try:
            fd = open_regular(path, None if follow else path.parent)
        except OSError as error:
            raise PageError(f"{path}: {error.strerror}") from None
        try:
            check_file(fd, own() if owners is None else owners)
            return cls(fd)
        except PageError as error:
            os.close(fd)
            raise PageError(f"{path}: {error}") from None

    def detach(self) -> None:
        """Let go of the page."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def read(self) -> Snapshot | None:
        """The newest snapshot, or None before the first publish.

        The writer never waits, so a read may meet a half-written slot: it tries again, and at last
        gives the newest snapshot it had.
        """
        section = self._slots
        for _ in range(ATTEMPTS):
            data = self._pread(2 * section.record_bytes, section.offset)
            slots = [data[: section.record_bytes], data[section.record_bytes :]]
            sequences = [int.from_bytes(slot[:8], "little") for slot in slots]
            if sequences == [0, 0]:
                return None
            slot = slots[sequences.index(max(sequences))]
            snapshot = self._decode(slot)
            if snapshot and (not self._newest or snapshot.publish >= self._newest.publish):
                self._newest = snapshot
                break
        return self._newest

    def _decode(self, slot: bytes) -> Snapshot | None:
        """The snapshot in `slot`, or None when its CRC-32 does not hold."""
        sequence, crc, count, publish, wall_ns, monotonic_ns, iteration, env_steps, _ = (
            at.RECORD_HEAD.unpack_from(slot)
        )
        if count > self.header.layout.max_metrics or sequence != publish:
            return None
        end = at.VALUES_OFFSET + 8 * count
        if crc != zlib.crc32(slot[at.RECORD_CRC_START : end]):
            return None
        values = struct.unpack_from(f"<{count}d", slot, at.VALUES_OFFSET)
        try:
            names = [metric.name for metric in self.schema(count)]
        except PageError:  # not seen yet by this processor: the next attempt may
            return None
        metrics = dict(zip(names, values, strict=True))
        return Snapshot(publish, wall_ns, monotonic_ns, iteration, env_steps, metrics)

    def schema(self, count: int | None = None) -> list[Metric]:
        """The metrics in the order of their values, the first `count` or all there are."""
        section = self._schema
        if count is None:
            (count,) = struct.unpack("<Q", self._pread(8, section.offset))
            count = min(count, section.num_records)
        revision = self._schema_word(at.SCHEMA_REVISION_OFFSET)
        if count > len(self._metrics) or revision != self._revision:
            self._metrics, self._revision = self._read_schema(count), revision
        return self._metrics[:count]

    def _read_schema(self, count: int) -> list[Metric]:
        """A record may be stored after the count that tells of it, as processors with a weak memory
        order see it, or be described anew at this moment: its CRC-32 tells, and it is read again.
        """
        section = self._schema
        for attempt in range(ATTEMPTS):
            data = self._pread(count * section.record_bytes, section.offset + at.SCHEMA_HEAD_BYTES)
            try:
                return decode_metrics(data, section.record_bytes)
            except PageError:
                if attempt == ATTEMPTS - 1:
                    raise
        return []

    def _schema_word(self, offset: int) -> int:
        return int.from_bytes(self._pread(8, self._schema.offset + offset), "little")

    def num_rejected_metrics(self) -> int:
        """How many names found no room in the page."""
        return self._schema_word(at.SCHEMA_REJECTED_OFFSET)

    def rows(self, position: int = 0) -> RingRows:
        """The records of single publishes that came since `position` of the ring, as far as it
        still has them.
        """
        return self._rows.read(position)

    def num_new_row_bytes(self, position: int) -> int:
        """How much of the ring was written since `position`."""
        return self._rows.num_new_bytes(position)

    def env_steps_per_s(self, newest: Snapshot) -> float | None:
        """Over the 30 seconds up to `newest`, or from one publish to the next where that is longer;
        over the newest 256 KiB of rows where these are fewer seconds. None where no env steps are
        counted or too little is known.
        """
        since_ns, older = newest.monotonic_ns - int(WINDOW_S * 1e9), None
        for moment in self._moments_before(newest, NEWEST_BYTES):
            older = moment
            if older.monotonic_ns <= since_ns:
                break
        return _speed_between(older, newest)

    def average_env_steps_per_s(self, newest: Snapshot) -> float | None:
        """From the first publish of the page, or from nothing where there is no other, to
        `newest`.
        """
        elapsed_ns, env_steps = self._rows.first()
        if elapsed_ns == newest.monotonic_ns:
            elapsed_ns = env_steps = 0
        return _speed_between(Snapshot(0, 0, elapsed_ns, 0, env_steps), newest)

    def gaps_s(self, newest: Snapshot, num_gaps: int) -> list[float]:
        """Seconds between one publish and the next, of the newest `num_gaps` that the page still
        has; the first publish of all follows the page's making.
        """
        row_bytes = at.VALUES_OFFSET + 8 * len(newest.metrics) + 16
        moments = [newest, *self._moments_before(newest, (num_gaps + 2) * row_bytes)]
        if moments[-1].publish == 1:
            moments.append(Snapshot(0, 0, 0, 0, 0))
        pairs = itertools.islice(itertools.pairwise(moments), num_gaps)
        return [max(0, newer.monotonic_ns - older.monotonic_ns) / 1e9 for newer, older in pairs]

    def _moments_before(self, newest: Snapshot, num_bytes: int) -> Iterator[Snapshot]:
        """The publishes before `newest` in the newest bytes of the ring, newest first, without
        their numbers.
        """
        for record in self._rows.newest(num_bytes):
            _, _, _, publish, wall_ns, monotonic_ns, iteration, env_steps, _ = (
                at.RECORD_HEAD.unpack_from(record)
            )
            if publish < newest.publish:
                yield Snapshot(publish, wall_ns, monotonic_ns, iteration, env_steps)

    def events(self, after: int = 0) -> list[Event]:
        """The events still in the ring whose number is above `after`, oldest first."""
        section = self.header.layout["EVENTS"]
        count = int.from_bytes(self._pread(8, section.offset + at.EVENT_COUNT_OFFSET), "little")
        if count <= after:
            return []
        data = self._pread(
            section.num_records * section.record_bytes, section.offset + at.EVENT_HEAD_BYTES
        )
        records = (
            Event.decode(data[i * section.record_bytes :][: section.record_bytes])
            for i in range(section.num_records)
        )
        found = [event for event in records if event and after < event.number <= count]
        return sorted(found, key=lambda event: event.number)

    def outcome(self) -> Outcome | None:
        """How the run ended, or None while it has not said."""
        section = self.header.layout["OUTCOME"]
        return Outcome.decode(self._pread(section.record_bytes, section.offset))

    def phase(self) -> Phase | None:
        """The process's current or last phase; None where it wrote none."""
        section = self.header.layout["PHASE"]
        for _ in range(ATTEMPTS):
            record = self._pread(section.record_bytes, section.offset)
            if (phase := Phase.decode(record)) or not any(record[8:16]):  # else half-written
                return phase
        return None

    def seconds_since(self, monotonic_ns: int) -> float:
        """Seconds since a moment on the page's clock, while its machine runs."""
        now_ns = time.monotonic_ns() - self.header.created_monotonic_ns
        return max(0.0, (now_ns - monotonic_ns) / 1e9)

    def seconds_until(self, monotonic_ns: int) -> float:
        """Seconds from now to a moment on the page's clock; 0 once it has passed."""
        now_ns = time.monotonic_ns() - self.header.created_monotonic_ns
        return max(0.0, (monotonic_ns - now_ns) / 1e9)

    def age_s(self, snapshot: Snapshot) -> float:
        """Seconds since `snapshot` was published; by the wall clock after a reboot."""
        if self.header.boot_id == boot_id():
            return self.seconds_since(snapshot.monotonic_ns)
        return max(0.0, (time.time_ns() - snapshot.wall_ns) / 1e9)

    def _pread(self, size_bytes: int, offset: int, whole: bool = True) -> bytes:
        """Raises PageError when fewer bytes are there."""
        try:
            data = os.pread(self.fd, size_bytes, offset)
        except OSError as error:
            raise PageError(f"the page cannot be read: {error.strerror}") from None
        if whole and len(data) < size_bytes:
            raise PageError(f"cut short: {offset + len(data)} bytes are left")
        return data


def _speed_between(older: Snapshot | None, newer: Snapshot) -> float | None:
    """Env steps per second from one publish to a later one; None where they do not tell."""
    if older is None or older.publish == newer.publish or min(older.env_steps, newer.env_steps) < 0:
        return None
    seconds = (newer.monotonic_ns - older.monotonic_ns) / 1e9
    # Rows that were imported without times are all of one moment.
    return (newer.env_steps - older.env_steps) / seconds if seconds > 0 else None
