"""The current activity of a process: one record in its page, rewritten in place."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass

from .header import padded, text
from .layout import PHASE, PHASE_CRC_START, Section

# In the order of their codes, from 1.
PHASES = (
    "compiling",
    "collecting",
    "learning",
    "evaluating",
    "saving",
    "restoring",
    "waiting",
)
# One call may take long in these, with no sign of life: a compiler, a slow disk, environments that
# start for an evaluation.
PATIENT = frozenset({"compiling", "evaluating", "saving", "restoring", "waiting"})


@dataclass(frozen=True)
class Phase:
    """`name` is one of `PHASES`. `done` of `total` in `unit`s; both None where nothing is counted.

    `since_ns`, `beat_ns` and `end_ns`, its beginning, the newest sign of life and the end that is
    expected, are on the page's clock. `end_ns` is 0 where it is not known.
    """

    name: str
    since_ns: int
    beat_ns: int
    done: int | None = None
    total: int | None = None
    unit: str = ""
    end_ns: int = 0

    def encode(self) -> bytes:
        """The whole record."""
        done, total = (-1 if n is None else n for n in (self.done, self.total))
        record = PHASE.pack(
            self.beat_ns,
            0,
            PHASES.index(self.name) + 1,
            self.since_ns,
            done,
            total,
            padded(self.unit, 16),
            self.end_ns,
        )
        crc = zlib.crc32(record[PHASE_CRC_START:]).to_bytes(4, "little")
        return record[:8] + crc + record[PHASE_CRC_START:]

    @classmethod
    def decode(cls, record: bytes) -> Phase | None:
        """Read the record; None when it is being written, or nothing ever was."""
        record = record[: PHASE.size]
        beat_ns, crc, code, since_ns, done, total, unit, end_ns = PHASE.unpack(record)
        if not 1 <= code <= len(PHASES) or crc != zlib.crc32(record[PHASE_CRC_START:]):
            return None
        done, total = (None if n < 0 else n for n in (done, total))
        return cls(PHASES[code - 1], since_ns, beat_ns, done, total, text(unit), end_ns)


class PhaseWriter:
    """Stores the phase of one process. Two stores, no system call, no allocation that grows."""

    def __init__(self, page: memoryview, section: Section, created_monotonic_ns: int) -> None:
        self._bytes = page
        self._words = page.cast("Q")
        self._section, self._zero_ns = section, created_monotonic_ns
        self._name, self._since_ns = "", 0

    def set(
        self, name: str, done: int | None, total: int | None, unit: str, left_s: float | None
    ) -> None:
        """Say what the process does from now on, or how far it is with it; a sign of life.

        Raises ValueError when `name` is none of `PHASES`.
        """
        if name not in PHASES:
            raise ValueError(f"phase = {name!r} is unknown: expected one of {', '.join(PHASES)}")
        now_ns = self._now_ns()
        if name != self._name:
            self._name, self._since_ns = name, now_ns
        end_ns = 0 if left_s is None else now_ns + int(left_s * 1e9)
        record = Phase(name, self._since_ns, now_ns, done, total, unit, end_ns).encode()
        start = self._section.offset
        self._bytes[start : start + len(record)] = record

    def beat(self) -> None:
        """A sign of life: work goes on, though nothing is published."""
        self._words[self._section.offset // 8] = self._now_ns()

    def _now_ns(self) -> int:
        return max(0, time.monotonic_ns() - self._zero_ns)
