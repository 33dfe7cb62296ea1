"""What a page says about its metrics: name, kind, unit and the way to read them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from .errors import PageError
from .header import padded, text
from .layout import SCHEMA_RECORD

Kind = Literal["gauge", "counter", "timer", "text"]
Better = Literal["none", "up", "down"]

KINDS: tuple[Kind, ...] = ("gauge", "counter", "timer", "text")
BETTER: tuple[Better, ...] = ("none", "up", "down")


@dataclass(frozen=True)
class Metric:
    """One named series of numbers.

    `name` is `group/name`; `kind` tells a value that comes and goes (gauge) from one that only
    grows (counter), a duration in seconds (timer), and the number of the event that holds its
    text (text). `better` is the direction people hope for. `level` 0 is for everyone, 1 for those
    who ask for details.
    """

    name: str
    unit: str = ""
    kind: Kind = "gauge"
    better: Better = "none"
    level: int = 0
    description: str = ""

    @property
    def group(self) -> str:
        return self.name.rpartition("/")[0]

    def encode(self) -> bytes:
        """The metric's record; its first four bytes are a CRC-32 of the rest."""
        record = SCHEMA_RECORD.pack(
            0,
            KINDS.index(self.kind),
            BETTER.index(self.better),
            self.level,
            0,
            padded(self.name, 96),
            padded(self.group, 32),
            padded(self.unit, 16),
            padded(self.description, 104),
        )
        return zlib.crc32(record[4:]).to_bytes(4, "little") + record[4:]

    @classmethod
    def decode(cls, record: bytes) -> Metric:
        """Read one record; raises PageError when it is damaged."""
        record = record[: SCHEMA_RECORD.size]
        crc, kind, better, level, _, name, _, unit, description = SCHEMA_RECORD.unpack(record)
        if crc != zlib.crc32(record[4:]) or kind >= len(KINDS) or better >= len(BETTER):
            raise PageError("the record of a metric is damaged")
        return cls(text(name), text(unit), KINDS[kind], BETTER[better], level, text(description))
