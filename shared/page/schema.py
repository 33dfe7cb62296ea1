"""The metric records of a page: name, kind, unit and the way to read them."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import PageError
from ..text.harmless import harmless
from .header import padded, text
from .layout import DESCRIPTION_BYTES, NAME_BYTES, SCHEMA_RECORD, UNIT_BYTES

Kind = Literal["gauge", "counter", "timer", "text"]
Better = Literal["none", "up", "down"]

KINDS: tuple[Kind, ...] = ("gauge", "counter", "timer", "text")
BETTER: tuple[Better, ...] = ("none", "up", "down")
# A distribution is five metrics, `name/p05` and so on: so many percent of its values are below.
QUANTILES = {f"p{percent:02d}": percent for percent in (5, 25, 50, 75, 95)}
_MARK_LETTERS = 8  # of the hash that tells names apart which cannot be kept as they are


@dataclass(frozen=True)
class Metric:
    """One named series of numbers.

    `name` is `group/name`; `kind` tells a value that comes and goes (gauge) from one that only
    grows (counter), a duration in seconds (timer), and the number of the event that holds its
    text (text). `better` is the direction people hope for. `level` 0 is for everyone, 1 for those
    who ask for details. `step_metric` names the metric that it is drawn over, where that is not
    the run's step.
    """

    name: str
    unit: str = ""
    kind: Kind = "gauge"
    better: Better = "none"
    level: int = 0
    description: str = ""
    step_metric: str = ""

    @property
    def group(self) -> str:
        return self.name.rpartition("/")[0]

    def encode(self, step_place: int = -1) -> bytes:
        """The metric's record; its first four bytes are a CRC-32 of the rest. `step_place` is that
        of its `step_metric`, negative where it has none.
        """
        record = SCHEMA_RECORD.pack(
            0,
            KINDS.index(self.kind),
            BETTER.index(self.better),
            self.level,
            0,
            step_place + 1,
            kept_name(self.name).encode(),
            padded(self.unit, UNIT_BYTES),
            padded(self.description, DESCRIPTION_BYTES),
        )
        return zlib.crc32(record[4:]).to_bytes(4, "little") + record[4:]


def decode_metrics(data: bytes, record_bytes: int) -> list[Metric]:
    """The metrics whose records follow each other in `data`. Raises PageError when one of them is
    damaged, or not there yet.
    """
    starts = range(0, len(data), record_bytes)
    decoded = [_decode(data[start : start + record_bytes]) for start in starts]
    names = [metric.name for metric, _ in decoded]
    return [
        replace(metric, step_metric=names[step - 1]) if 0 < step <= len(names) else metric
        for metric, step in decoded
    ]


def kept_name(name: str) -> str:
    """The name under which a page keeps metric `name`: itself, or where it is too long or holds
    what is none for a screen, what can be kept of it and a mark made of all of it, so that names
    which differ stay different.
    """
    whole = name.encode("utf-8", "surrogatepass")
    if len(whole) <= NAME_BYTES and name.isprintable():
        return name
    mark = "~" + hashlib.sha256(whole).hexdigest()[:_MARK_LETTERS]
    return padded(harmless(name), NAME_BYTES - len(mark)).decode() + mark


def _decode(record: bytes) -> tuple[Metric, int]:
    """The metric, and 1 + the place of its step metric, 0 where it has none."""
    record = record[: SCHEMA_RECORD.size]
    crc, kind, better, level, _, step, name, unit, description = SCHEMA_RECORD.unpack(record)
    if crc != zlib.crc32(record[4:]) or kind >= len(KINDS) or better >= len(BETTER):
        raise PageError("the record of a metric is damaged")
    kind, better = KINDS[kind], BETTER[better]
    return Metric(text(name), text(unit), kind, better, level, text(description)), step
