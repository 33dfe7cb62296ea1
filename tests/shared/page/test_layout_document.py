"""docs/metrics-page.md is enough to read a page: here its tables are all that is used."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import pytest

from operant.shared import Metric, MetricsWriter

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics-page.md"
TYPES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "i64": "q", "f64": "d"}


def tables() -> dict[str, list[dict[str, tuple[int, str]]]]:
    """Heading to its tables, each field name to (offset, type)."""
    found: dict[str, list[dict[str, tuple[int, str]]]] = {}
    heading, in_table = "", False
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("## "):
            heading = re.split(r"[:,]", line[3:])[0]
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[0].isdigit():
            if not in_table:
                found.setdefault(heading, []).append({})
            found[heading][-1][cells[2]] = (int(cells[0]), cells[1])
            in_table = True
        elif not line.startswith("|---"):
            in_table = False
    return found


def version() -> tuple[int, int]:
    """The layout version in the document's text and table."""
    text = DOCUMENT.read_text()
    told = re.search(r"Layout version \*\*(\d+)\.(\d+)\*\*", text)
    in_table = re.search(r"major \| (\d+) \|\n.*minor \| (\d+) \|", text)
    assert told
    assert in_table
    assert told.groups() == in_table.groups()
    return int(told[1]), int(told[2])


class Record:
    """A part of a page, read by one of the document's tables."""

    def __init__(self, page: bytes, start: int, table: dict[str, tuple[int, str]]) -> None:
        self.page, self.start, self.table = page, start, table

    def __getitem__(self, name: str):
        offset, kind = self.table[name]
        if kind in TYPES:
            return struct.unpack_from("<" + TYPES[kind], self.page, self.start + offset)[0]
        size = re.match(r"(\d+) bytes", kind)
        raw = self.page[self.start + offset :][: int(size[1]) if size else None]
        return raw.split(b"\0")[0].decode() if size else raw

    def at(self, name: str) -> int:
        """Where a field of several records begins."""
        return self.start + self.table[name][0]


@pytest.fixture
def page(tmp_path, operant_pages) -> bytes:
    learn_s = Metric("time/learn_s", "s", "timer", step_metric="loss/policy")
    metrics = [Metric("loss/policy", description="how wrong"), learn_s]
    writer = MetricsWriter.create(
        operant_pages / "p", "the-run", metrics, publish_interval_s=0.5, max_metrics=5
    )
    for number in range(1, 201):
        writer.publish({"loss/policy": number, "time/learn_s": 0.5}, number, number * 64)
    writer.event("warning", "look here", 12)
    writer.phase("evaluating", 37, 100, "episodes")
    writer.finish("failed", 1, "it broke")
    writer.save_copy(tmp_path / "page")
    return (tmp_path / "page").read_bytes()


@pytest.fixture
def sections(page) -> dict[str, Record]:
    header, entry = tables()["Header"]
    header = Record(page, 0, header)
    return {
        (section := Record(page, header.at("sections") + 32 * i, entry))["tag"]: section
        for i in range(header["num_sections"])
    }


def test_the_header_is_where_the_document_says(page):
    header = Record(page, 0, tables()["Header"][0])
    assert header["magic"] == "OPERANT"
    assert header["byte_order"] == 0x01020304
    assert (header["major"], header["minor"]) == version()
    assert header["page_bytes"] == len(page)
    assert header["run_id"] == "the-run"
    assert header["publish_interval_s"] == 0.5
    assert header["ready"] == 0x5944414552
    assert header["header_crc"] == zlib.crc32(page[:1008])


def test_the_schema_is_where_the_document_says(page, sections):
    head, metric = tables()["SCHEMA"]
    schema = Record(page, sections["SCHEMA"]["offset"], head)
    assert schema["count"] == 2
    first, second = (
        Record(page, schema.at("metrics") + i * sections["SCHEMA"]["record_bytes"], metric)
        for i in range(2)
    )
    assert (first["name"], first["description"]) == ("loss/policy", "how wrong")
    assert (second["kind"], second["unit"]) == (2, "s")
    assert (first["step_place"], second["step_place"]) == (0, 1)  # loss/policy is at place 0
    assert first["crc"] == zlib.crc32(page[first.start + 4 : first.start + 384])


def values(record: Record) -> tuple[float, ...]:
    return struct.unpack_from(f"<{record['count']}d", record.page, record.at("values"))


def test_the_snapshot_is_where_the_document_says(page, sections):
    (table,) = tables()["SNAPSHOT"]
    section = sections["SNAPSHOT"]
    slots = [Record(page, section["offset"] + i * section["record_bytes"], table) for i in range(2)]
    newest = max(slots, key=lambda slot: slot["sequence"])
    assert newest is slots[200 % 2]
    assert newest["sequence"] == newest["publish"] == newest["iteration"] == 200
    assert newest["env_steps"] == 12800
    assert values(newest) == (200.0, 0.5)
    covered = page[newest.start + 12 : newest.start + 64 + 8 * newest["count"]]
    assert newest["crc"] == zlib.crc32(covered)


def test_the_ring_of_rows_is_where_the_document_says(tmp_path, page, sections):
    (record,), (head,) = tables()["SNAPSHOT"], tables()["ROWS"]
    ring = Record(page, sections["ROWS"]["offset"], head)
    assert (ring["begin"], ring["end"]) == (0, 200 * (64 + 2 * 8 + 8))
    assert 0 < ring["first_ns"] < 10**11
    assert ring["first_env_steps"] == 64
    last = Record(page, ring.at("ring") + 199 * 88, record)
    assert (last["sequence"], last["publish"], last["num_places"]) == (88, 200, 0)
    assert struct.unpack_from("<Q", page, last.start + 80) == (88,)
    assert values(last) == (200.0, 0.5)
    assert last["crc"] == zlib.crc32(page[last.start + 12 : last.start + 80])


def test_a_row_of_few_values_is_laid_out_as_the_document_says(tmp_path, operant_pages):
    metrics = [Metric(f"m{i}") for i in range(9)]
    writer = MetricsWriter.create(operant_pages / "q", "run", metrics, publish_interval_s=1)
    writer.publish({"m7": 7.0, "m2": 2.0, "m3": 3.0}, 1, 1)
    ring, (record,) = writer.header.layout["ROWS"], tables()["SNAPSHOT"]
    writer.save_copy(tmp_path / "copy")
    row = Record((tmp_path / "copy").read_bytes(), ring.offset + 64, record)
    assert (row["sequence"], row["count"], row["num_places"]) == (64 + 8 + 24 + 8, 9, 3)
    assert struct.unpack_from("<3H2x3d", row.page, row.at("values")) == (7, 2, 3, 7.0, 2.0, 3.0)
    assert row["crc"] == zlib.crc32(row.page[row.start + 12 : row.start + 96])


def test_events_and_outcome_are_where_the_document_says(page, sections):
    head, record = tables()["EVENTS"]
    events = Record(page, sections["EVENTS"]["offset"], head)
    assert events["count"] == 1
    event = Record(page, events.at("events"), record)
    assert (event["number"], event["level"], event["env_steps"]) == (1, 2, 12)
    assert event["text"][: event["text_bytes"]] == b"look here"
    covered = page[event.start : event.start + 8] + page[event.start + 12 : event.start + 32 + 9]
    assert event["crc"] == zlib.crc32(covered)

    (table,) = tables()["OUTCOME"]
    outcome = Record(page, sections["OUTCOME"]["offset"], table)
    assert (outcome["state"], outcome["exit_code"]) == (3, 1)
    assert outcome["message"][: outcome["text_bytes"]] == b"it broke"
    assert outcome["flags"] == 0
    assert outcome["crc"] == zlib.crc32(page[outcome.start + 4 : outcome.start + 1024])


def test_the_phase_is_where_the_document_says(page, sections):
    (table,) = tables()["PHASE"]
    phase = Record(page, sections["PHASE"]["offset"], table)
    assert (phase["phase"], phase["done"], phase["total"]) == (4, 37, 100)
    assert phase["unit"] == "episodes"
    assert 0 < phase["since_ns"] <= phase["beat_ns"]
    assert phase["crc"] == zlib.crc32(page[phase.start + 12 : phase.start + 64])
