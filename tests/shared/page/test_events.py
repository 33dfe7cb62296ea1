"""An event is read as it was written, or not at all."""

from __future__ import annotations

import struct

from operant.shared import Event, MetricsReader, MetricsWriter
from operant.shared.page.layout import EVENT_HEAD_BYTES

SAID = Event(7, 1000, "warning", "the disk is nearly full", 12)


def test_an_event_is_read_as_it_was_written():
    assert Event.decode(SAID.encode()) == SAID


def test_an_event_whose_number_is_damaged_is_none():
    record = bytearray(SAID.encode())
    struct.pack_into("<Q", record, 0, 8)
    assert Event.decode(bytes(record)) is None


def test_a_number_that_is_not_its_own_is_not_believed(tmp_path):
    page = MetricsWriter.create(tmp_path / "p", "run", [], publish_interval_s=1, max_metrics=1)
    page.event("info", "the first")
    page.event("info", "the second")
    place = page.header.layout["EVENTS"].offset + EVENT_HEAD_BYTES
    with (tmp_path / "p").open("r+b") as file:
        file.seek(place)
        file.write(struct.pack("<Q", 2))  # both now claim to be number 2
    assert [event.text for event in MetricsReader.attach(tmp_path / "p").events()] == ["the second"]
