"""The header of a page: who writes it, since when, and where its sections lie."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import PageError, made_by
from ..text.harmless import harmless
from .folder_place import FolderPlace
from .layout import (
    BYTE_ORDER,
    EVENT_RECORD,
    FOLDER_OFFSET,
    FORMER_LAYOUTS,
    HEADER,
    HEADER_BYTES,
    HEADER_CRC_OFFSET,
    MAGIC,
    MAJOR,
    MAX_EVENTS_BYTES,
    MAX_METRICS,
    MAX_PAGE_BYTES,
    MAX_ROWS_BYTES,
    MAX_SECTIONS,
    MAX_SPARE_BYTES,
    MINOR,
    OUTCOME_BYTES,
    PHASE,
    READY,
    READY_OFFSET,
    ROWS_HEAD_BYTES,
    SCHEMA_HEAD_BYTES,
    SCHEMA_RECORD,
    SECTION,
    SECTION_TABLE_OFFSET,
    VALUES_OFFSET,
    Layout,
    Section,
)


class PageIdentity(NamedTuple):
    """Equal for a page and its copy, different for the page of another process."""

    pid: int
    process_start: int
    created_monotonic_ns: int

    def __str__(self) -> str:
        """The text for files of rows."""
        return "-".join(map(str, self))


@dataclass(frozen=True)
class Header:
    """The constant fields of a page. `created_monotonic_ns` is the zero of all its monotonic times:
    the age of a publish is now - created - publish.
    """

    run_id: str
    pid: int
    process_start: int
    boot_id: bytes
    host: str
    created_wall_ns: int
    created_monotonic_ns: int
    publish_interval_s: float
    layout: Layout
    place: FolderPlace | None = None

    @property
    def identity(self) -> PageIdentity:
        return PageIdentity(self.pid, self.process_start, self.created_monotonic_ns)

    def encode(self) -> bytes:
        """The header's bytes, all but READY."""
        sections = list(self.layout.sections.values())
        data = bytearray(HEADER_BYTES)
        HEADER.pack_into(
            data, 0, MAGIC, BYTE_ORDER, MAJOR, MINOR, HEADER_BYTES, len(sections),
            self.layout.page_bytes, self.pid, self.process_start, self.boot_id,
            self.created_wall_ns, self.created_monotonic_ns, self.publish_interval_s,
            padded(self.run_id, 64), padded(self.host, 64),
        )  # fmt: skip
        for i, section in enumerate(sections):
            tag, *where = section
            SECTION.pack_into(data, SECTION_TABLE_OFFSET + i * SECTION.size, tag.encode(), *where)
        if self.place:
            data[FOLDER_OFFSET:HEADER_CRC_OFFSET] = self.place.encode()
        struct.pack_into("<I", data, HEADER_CRC_OFFSET, zlib.crc32(data[:HEADER_CRC_OFFSET]))
        return bytes(data)

    @classmethod
    def decode(cls, data: bytes, file_bytes: int) -> Header:
        """Read a header from the first bytes of a file of `file_bytes`.

        Raises PageError when the file is no page, not ready, damaged, cut short, of another byte
        order or of another major version.
        """
        if len(data) < HEADER_BYTES:
            raise PageError(f"too short to be a page: {file_bytes} bytes")
        (
            magic, byte_order, major, minor, header_bytes, num_sections, page_bytes, pid,
            process_start, boot_id, created_wall_ns, created_monotonic_ns, publish_interval_s,
            run_id, host,
        ) = HEADER.unpack_from(data)  # fmt: skip
        if magic != MAGIC:
            raise PageError("not an operant page")
        if byte_order != BYTE_ORDER:
            raise PageError("written on a machine of another byte order")
        if former := FORMER_LAYOUTS.get((major, minor)):
            raise PageError(made_by(former))
        if major < MAJOR:
            raise PageError(f"layout {major}.{minor} is unknown: no version of operant wrote it")
        if major > MAJOR:
            raise PageError(
                f"layout {major}.{minor} is newer than this operant reads ({MAJOR}.x); update it"
            )
        if int.from_bytes(data[READY_OFFSET : READY_OFFSET + 8], "little") != READY:
            raise PageError("not ready yet")
        (crc,) = struct.unpack_from("<I", data, HEADER_CRC_OFFSET)
        if crc != zlib.crc32(data[:HEADER_CRC_OFFSET]) or header_bytes != HEADER_BYTES:
            raise PageError("its header is damaged")
        if not HEADER_BYTES <= page_bytes <= MAX_PAGE_BYTES:
            raise PageError(f"its header claims {page_bytes} bytes")
        if page_bytes > file_bytes:
            raise PageError(f"cut short: {file_bytes} of {page_bytes} bytes")
        layout = _decode_layout(data, num_sections, page_bytes)
        return cls(
            text(run_id), pid, process_start, boot_id, text(host),
            created_wall_ns, created_monotonic_ns, publish_interval_s, layout,
            FolderPlace.decode(data[FOLDER_OFFSET:HEADER_CRC_OFFSET]),
        )  # fmt: skip


def _decode_layout(data: bytes, num_sections: int, page_bytes: int) -> Layout:
    """The table of sections; unknown tags stay in it, unread."""
    if num_sections > MAX_SECTIONS:
        raise PageError(f"its header claims {num_sections} sections")
    sections = {}
    for i in range(num_sections):
        tag, *where = SECTION.unpack_from(data, SECTION_TABLE_OFFSET + i * SECTION.size)
        section = Section(text(tag), *where)
        if section.tag in sections:
            raise PageError(f"it has two sections {section.tag}")
        if section.offset + section.size_bytes > page_bytes or (
            section.record_bytes * section.num_records > section.size_bytes
        ):
            raise PageError(f"its section {section.tag} lies outside the page")
        sections[section.tag] = section
    layout = Layout(sections, page_bytes)
    _check_sections(layout)
    return layout


def _check_sections(layout: Layout) -> None:
    """The sections that every page has, each large enough for what is read from it."""
    for tag in ("SCHEMA", "SNAPSHOT", "EVENTS", "OUTCOME", "PHASE", "ROWS"):
        if tag not in layout.sections:
            raise PageError(f"it has no section {tag}")
    num_metrics = layout.max_metrics
    if num_metrics > MAX_METRICS:
        raise PageError(f"its section SCHEMA claims {num_metrics} metrics")
    needs = {"SCHEMA": SCHEMA_RECORD.size, "OUTCOME": OUTCOME_BYTES, "EVENTS": EVENT_RECORD.size}
    needs |= {"SNAPSHOT": VALUES_OFFSET + 8 * num_metrics, "PHASE": PHASE.size}
    for tag, needed in needs.items():
        section = layout[tag]
        fits = needed <= section.record_bytes <= needed + MAX_SPARE_BYTES
        if not fits or section.num_records < 1 or section.record_bytes % 8:
            raise PageError(f"its section {tag} has records of {section.record_bytes} bytes")
    schema = layout["SCHEMA"]
    fits = SCHEMA_HEAD_BYTES + schema.record_bytes * num_metrics <= schema.size_bytes
    if not fits or layout["SNAPSHOT"].num_records != 2:
        raise PageError("its sections do not fit together")
    if layout["EVENTS"].size_bytes > MAX_EVENTS_BYTES:
        raise PageError(f"its header claims {layout['EVENTS'].size_bytes} bytes of events")
    rows = layout["ROWS"]
    if not ROWS_HEAD_BYTES + 8 <= rows.size_bytes <= MAX_ROWS_BYTES or rows.size_bytes % 8:
        raise PageError(f"its section ROWS has {rows.size_bytes} bytes")
    _check_apart([layout[tag] for tag in (*needs, "ROWS")])


def _check_apart(sections: list[Section]) -> None:
    """No section lies over another: a small file cannot claim to hold much."""
    end = HEADER_BYTES
    for section in sorted(sections, key=lambda section: section.offset):
        if section.offset < end:
            raise PageError(f"its section {section.tag} lies over another")
        end = section.offset + section.size_bytes


def padded(string: str, size: int) -> bytes:
    """UTF-8 of at most `size` bytes, cut between characters; struct fills it up with NUL."""
    return string.encode("utf-8", "replace")[:size].decode("utf-8", "ignore").encode()


def text(raw: bytes) -> str:
    """The text of a NUL-padded field; whoever wrote it, a terminal can show it."""
    return harmless(raw.split(b"\0", 1)[0].decode("utf-8", "replace"))
