"""How a run ended, as it says itself."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from .header import padded
from .layout import OUTCOME, OUTCOME_BYTES

State = Literal["finished", "stopped", "failed"]
STATES: tuple[State, ...] = ("finished", "stopped", "failed")


@dataclass(frozen=True)
class Outcome:
    """The last word of a run: its state, the exit code of its process, and why."""

    state: State
    exit_code: int
    message: str
    wall_ns: int

    def encode(self) -> bytes:
        text = padded(self.message, OUTCOME_BYTES - OUTCOME.size)
        state = 1 + STATES.index(self.state)
        code = max(-(2**31), min(self.exit_code, 2**31 - 1))
        record = OUTCOME.pack(0, state, code, len(text), self.wall_ns) + text
        record = record.ljust(OUTCOME_BYTES, b"\0")
        return zlib.crc32(record[4:]).to_bytes(4, "little") + record[4:]

    @classmethod
    def decode(cls, record: bytes) -> Outcome | None:
        """Read the section; None when nothing whole was written."""
        record = record[:OUTCOME_BYTES]
        crc, state, exit_code, size, wall_ns = OUTCOME.unpack_from(record)
        if not 1 <= state <= len(STATES) or crc != zlib.crc32(record[4:]):
            return None
        text = record[OUTCOME.size : OUTCOME.size + size].decode("utf-8", "replace")
        return cls(STATES[state - 1], exit_code, text, wall_ns)
