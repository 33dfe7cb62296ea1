"""How a run ended, as its process says, or as the recorder learns from the kernel."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from ..page.header import padded
from ..page.layout import (
    OUTCOME,
    OUTCOME_BYTES,
    OUTCOME_CODE_UNKNOWN,
    OUTCOME_FLAGS,
    OUTCOME_PROVISIONAL,
)
from ..text.harmless import harmless

State = Literal["finished", "stopped", "failed", "ended"]
STATES: tuple[State, ...] = ("finished", "stopped", "failed")  # by their number in the page
CODE_UNKNOWN = "its exit code is not known"


@dataclass(frozen=True)
class Outcome:
    """The state of a run that is over, the exit code of its process, and why. A state of "ended"
    means that the exit code is not known. `is_provisional` means that the process wrote this
    shortly before it exited, so its exit status may correct it.
    """

    state: State
    exit_code: int
    message: str
    wall_ns: int
    is_provisional: bool = False

    def encode(self) -> bytes:
        text = padded(self.message, OUTCOME_BYTES - OUTCOME.size - OUTCOME_FLAGS.size)
        # A reader before layout 2.1 passes over the flags, and calls a run that ended stopped.
        is_unknown = self.state == "ended"
        state = 1 + STATES.index("stopped" if is_unknown else self.state)
        flags = OUTCOME_PROVISIONAL * self.is_provisional | OUTCOME_CODE_UNKNOWN * is_unknown
        code = max(-(2**31), min(self.exit_code, 2**31 - 1))
        record = OUTCOME.pack(0, state, code, len(text), self.wall_ns) + text
        record = record.ljust(OUTCOME_BYTES - OUTCOME_FLAGS.size, b"\0") + OUTCOME_FLAGS.pack(flags)
        return zlib.crc32(record[4:]).to_bytes(4, "little") + record[4:]

    @classmethod
    def decode(cls, record: bytes) -> Outcome | None:
        """Read the section; None when nothing whole was written."""
        record = record[:OUTCOME_BYTES]
        crc, state, exit_code, size, wall_ns = OUTCOME.unpack_from(record)
        if not 1 <= state <= len(STATES) or crc != zlib.crc32(record[4:]):
            return None
        text = harmless(record[OUTCOME.size : OUTCOME.size + size].decode("utf-8", "replace"))
        # Before layout 2.1, a long text fills the section to its end.
        has_flags = OUTCOME.size + size <= OUTCOME_BYTES - OUTCOME_FLAGS.size
        flags = int.from_bytes(record[-OUTCOME_FLAGS.size :], "little") if has_flags else 0
        name: State = "ended" if flags & OUTCOME_CODE_UNKNOWN else STATES[state - 1]
        return cls(name, exit_code, text, wall_ns, bool(flags & OUTCOME_PROVISIONAL))
