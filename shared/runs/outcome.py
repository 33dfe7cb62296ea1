"""The outcome of a run, written by its process or by the recorder."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from ..page.header import padded
from ..page.layout import (
    OUTCOME,
    OUTCOME_BYTES,
    OUTCOME_FLAGS,
    OUTCOME_PROVISIONAL,
)
from ..text.harmless import harmless

State = Literal["finished", "stopped", "failed", "ended"]
# Numbered from 1 in the page.
STATES: tuple[State, ...] = ("finished", "stopped", "failed", "ended")
CODE_UNKNOWN = "its exit code is not known"


@dataclass(frozen=True)
class Outcome:
    """The state of a run that has ended, the exit code of its process, and the reason. The state
    "ended" means that the exit code is not known. `is_provisional` means that the process wrote
    this shortly before it exited, so its exit status may correct it.
    """

    state: State
    exit_code: int
    message: str
    wall_ns: int
    is_provisional: bool = False

    def encode(self) -> bytes:
        text = padded(self.message, OUTCOME_BYTES - OUTCOME.size - OUTCOME_FLAGS.size)
        state = 1 + STATES.index(self.state)
        flags = OUTCOME_PROVISIONAL * self.is_provisional
        code = max(-(2**31), min(self.exit_code, 2**31 - 1))
        record = OUTCOME.pack(0, state, code, len(text), self.wall_ns) + text
        record = record.ljust(OUTCOME_BYTES - OUTCOME_FLAGS.size, b"\0") + OUTCOME_FLAGS.pack(flags)
        return zlib.crc32(record[4:]).to_bytes(4, "little") + record[4:]

    @classmethod
    def decode(cls, record: bytes) -> Outcome | None:
        """Decode the section; None if no complete outcome was written."""
        record = record[:OUTCOME_BYTES]
        crc, state, exit_code, size, wall_ns = OUTCOME.unpack_from(record)
        if not 1 <= state <= len(STATES) or crc != zlib.crc32(record[4:]):
            return None
        text = harmless(record[OUTCOME.size : OUTCOME.size + size].decode("utf-8", "replace"))
        flags = int.from_bytes(record[-OUTCOME_FLAGS.size :], "little")
        is_provisional = bool(flags & OUTCOME_PROVISIONAL)
        return cls(STATES[state - 1], exit_code, text, wall_ns, is_provisional)
