"""Messages of a run: a ring in the page, the newest kept."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from .header import padded
from .layout import EVENT_BYTES, EVENT_COUNT_OFFSET, EVENT_HEAD_BYTES, EVENT_RECORD, Section

Level = Literal["debug", "info", "warning", "error"]
RESUMED = "resumed from iteration"  # how the event begins that a run goes on with
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")

_CRC_START = 12  # after the number and the CRC-32 itself
_TEXT_BYTES = EVENT_BYTES - EVENT_RECORD.size


@dataclass(frozen=True)
class Event:
    """One message. `number` counts from 1; `env_steps` is negative where it does not apply."""

    number: int
    wall_ns: int
    level: Level
    text: str
    env_steps: int = -1

    def encode(self) -> bytes:
        """The event's record, its text cut to what fits."""
        text = padded(self.text, _TEXT_BYTES)
        head = EVENT_RECORD.pack(
            self.number, 0, len(text), LEVELS.index(self.level), 0, self.wall_ns, self.env_steps
        )
        crc = _crc(head[:8], head[_CRC_START:] + text)
        return head[:8] + crc.to_bytes(4, "little") + head[_CRC_START:] + text

    @classmethod
    def decode(cls, record: bytes) -> Event | None:
        """Read one record; None when it was never written, or is being written."""
        number, crc, size, level, _, wall_ns, env_steps = EVENT_RECORD.unpack_from(record)
        body = record[_CRC_START : EVENT_RECORD.size + size]
        is_whole = crc == _crc(record[:8], body)
        if number == 0 or level >= len(LEVELS) or not is_whole:
            return None
        text = body[EVENT_RECORD.size - _CRC_START :].decode("utf-8", "replace")
        return cls(number, wall_ns, LEVELS[level], text, env_steps)


class EventWriter:
    """Appends events to their ring; the count is written after the record."""

    def __init__(self, page: memoryview, section: Section) -> None:
        self._bytes = page
        self._words = page.cast("Q")
        self._section = section
        self._count_word = (section.offset + EVENT_COUNT_OFFSET) // 8
        self._number = 0  # of the newest event

    def append(self, level: Level, text: str, env_steps: int, wall_ns: int) -> None:
        self.put(Event(self._number + 1, wall_ns, level, text, env_steps))

    def put(self, event: Event) -> None:
        """Store `event`, the newest, at the place of its number."""
        data, self._number = event.encode(), event.number
        place = (event.number - 1) % self._section.num_records
        start = self._section.offset + EVENT_HEAD_BYTES + place * self._section.record_bytes
        self._bytes[start : start + len(data)] = data
        self._words[self._count_word] = event.number


def _crc(number: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(number))
