"""The byte layout of a page. `docs/metrics-page.md` says the same in words; a test compares them.

All numbers are little-endian. A page is a header, then sections that the header's table locates.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import PageError

MAGIC = b"OPERANT\0"
MAJOR, MINOR = 3, 0
# The version of operant that wrote each layout that is no longer read.
FORMER_LAYOUTS = {(1, 1): "0.1", (2, 0): "0.2", (2, 1): "0.3"}
BYTE_ORDER = 0x01020304
READY = 0x5944414552  # "READY"

HEADER_BYTES = 1024
# magic, byte order, major, minor, header bytes, sections, page bytes, pid, process start, boot id,
# created wall, created monotonic, publish interval, run id, host
HEADER = struct.Struct("<8sIHHIIQqQ16sqqd64s64s")
SECTION_TABLE_OFFSET = 256
SECTION = struct.Struct("<8sQQII")  # tag, offset, bytes, bytes a record, records
MAX_SECTIONS = 16
# Where the run's folder lies: device and inode of the folder around it, its path (NUL-padded)
FOLDER_OFFSET = 768
FOLDER = struct.Struct("<QQ224s")
HEADER_CRC_OFFSET = 1008
READY_OFFSET = 1016

# A record of the snapshot or the ring of rows: this head, then its values.
# sequence, CRC-32, metrics in use, publish number, wall, monotonic, iteration, env steps, places
# (of a row that has some of the metrics alone; 0 elsewhere)
RECORD_HEAD = struct.Struct("<QIIQqqqqQ")
RECORD_CRC_OFFSET = 8
RECORD_CRC_START = 12  # the CRC covers all that follows it, as far as metrics are in use
VALUES_OFFSET = RECORD_HEAD.size

SCHEMA_HEAD_BYTES = 64
SCHEMA_COUNT_OFFSET, SCHEMA_REJECTED_OFFSET = 0, 8
SCHEMA_REVISION_OFFSET = 16
# CRC-32, kind, better, level, spare, 1 + place of the metric it is drawn over, name, unit,
# description
SCHEMA_RECORD = struct.Struct("<IBBBBI208s16s148s")
NAME_BYTES, UNIT_BYTES, DESCRIPTION_BYTES = 208, 16, 148

# Of the ring of rows: bytes before the oldest record that is whole, bytes before the end of the
# newest, both counted since the page was made; time and env steps of the page's first publish.
ROWS_HEAD_BYTES = 64
ROWS_BEGIN_OFFSET, ROWS_END_OFFSET = 0, 8
ROWS_FIRST_OFFSET = 16
ROWS_BYTES = 12 << 20  # 20,000 rows of 64 metrics
MAX_ROWS_BYTES = 16 << 20
FILLER = 1 << 63  # in the size of a record: it only fills the ring up to its end

EVENT_HEAD_BYTES = 64
EVENT_COUNT_OFFSET = 0
# number, CRC-32, text bytes, level, spare, wall, env steps
EVENT_RECORD = struct.Struct("<QIHBBqq")
EVENT_BYTES = 1024

# CRC-32, state, exit code, text bytes, wall
OUTCOME = struct.Struct("<IIiIq")
OUTCOME_BYTES = 1024
# The last four bytes of the section.
OUTCOME_FLAGS = struct.Struct("<I")
OUTCOME_PROVISIONAL = 1

# newest sign of life, CRC-32, phase, since, done, total, unit, expected end
PHASE = struct.Struct("<QIIqqq16sq")
PHASE_CRC_START = 12  # the sign of life is stored on its own

# A value that was never written: a NaN with its own bits, unlike one that was published.
NEVER_BITS = 0x7FF8_0000_4E45_5652
NEVER = NEVER_BITS.to_bytes(8, "little")

NUM_EVENTS = 256

MAX_METRICS = 4096
MAX_PAGE_BYTES = 1 << 30
# What a reader of a page that anyone may have written goes along with.
MAX_SPARE_BYTES = 4096  # of a record, beyond what is known of it
MAX_EVENTS_BYTES = 4 << 20


class Section(NamedTuple):
    """Where one section lies: `offset` and `size_bytes` of the whole, and its records."""

    tag: str
    offset: int
    size_bytes: int
    record_bytes: int
    num_records: int


@dataclass(frozen=True)
class Layout:
    """The sections of one page, by tag."""

    sections: dict[str, Section]
    page_bytes: int

    def __getitem__(self, tag: str) -> Section:
        return self.sections[tag]

    @property
    def max_metrics(self) -> int:
        return self["SCHEMA"].num_records


def make_layout(max_metrics: int, rows_bytes: int = ROWS_BYTES) -> Layout:
    """The layout of a new page with room for `max_metrics` names and `rows_bytes` of rows."""
    if not 1 <= max_metrics <= MAX_METRICS:
        raise PageError(f"max_metrics = {max_metrics} is not between 1 and {MAX_METRICS}")
    parts = [
        ("SCHEMA", SCHEMA_HEAD_BYTES, SCHEMA_RECORD.size, max_metrics),
        ("SNAPSHOT", 0, VALUES_OFFSET + 8 * max_metrics, 2),
        ("EVENTS", EVENT_HEAD_BYTES, EVENT_BYTES, NUM_EVENTS),
        ("OUTCOME", 0, OUTCOME_BYTES, 1),
        ("PHASE", 0, PHASE.size, 1),
        ("ROWS", ROWS_HEAD_BYTES, 8, rows_bytes // 8),
    ]
    sections, offset = {}, HEADER_BYTES
    for tag, head_bytes, record_bytes, num_records in parts:
        size = head_bytes + record_bytes * num_records
        sections[tag] = Section(tag, offset, size, record_bytes, num_records)
        offset += size
    return Layout(sections, offset)
