"""The ring of rows holds every publish as it was written, the newest that fit, across threads."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import wait_for

from operant.shared import MetricsReader, MetricsWriter
from operant.shared.page.layout import NEVER
from operant.shared.page.row_ring import RowRingReader, publish_of
from operant.shared.rows.row_batch import batch_of

NAMES = [f"m{i}" for i in range(12)]


def as_rows(records: list[bytes]) -> list[tuple[int, int, dict[int, bytes]]]:
    """Publish, env steps and the bits of what was written by place of each record."""
    if not records:
        return []
    batch = batch_of(records)
    rows = []
    for row in range(len(batch)):
        bits = {
            int(place): struct.pack("<d", batch.values[column, row])
            for column, place in enumerate(batch.places)
        }
        written = {place: value for place, value in bits.items() if value != NEVER}
        rows.append((int(batch.publish[row]), int(batch.env_steps[row]), written))
    return rows


publishes = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), st.floats(), max_size=12),
        st.integers(-1, 2**63 - 1),
    ),
    max_size=40,
)


@settings(max_examples=30, deadline=None)
@given(publishes=publishes, ring_bytes=st.integers(40, 400).map(lambda n: 8 * n), data=st.data())
def test_whatever_is_published_is_read_as_it_was_the_newest_that_fit(
    tmp_path_factory, publishes, ring_bytes, data
):
    path = tmp_path_factory.mktemp("ring") / "page"
    writer = MetricsWriter.create(
        path, "run", publish_interval_s=1, max_metrics=12, rows_bytes=ring_bytes
    )
    reader = MetricsReader.attach(path)
    places: dict[str, int] = {}
    expected, found, position = [], [], 0
    for number, (values, step) in enumerate(publishes, 1):
        for name in values:
            places.setdefault(name, len(places))
        writer.publish(values, number, step)
        written = {places[name]: struct.pack("<d", value) for name, value in values.items()}
        written = {place: value for place, value in written.items() if value != NEVER}
        expected.append((number, step, written))
        if data.draw(st.booleans()):
            records, position = reader.rows(position)
            found += as_rows(records)
    found += as_rows(reader.rows(position).records)
    reader.detach()
    writer.remove()
    # What was read is exactly what was published, in order, none twice; the newest is always there.
    by_number = {row[0]: row for row in expected}
    numbers = [row[0] for row in found]
    assert numbers == sorted(set(numbers))
    assert all(by_number[row[0]] == row for row in found)
    assert not publishes or numbers[-1] == len(publishes)


def test_five_hundred_metrics_just_work(operant_pages):
    writer = MetricsWriter.create(operant_pages / "p", "run", publish_interval_s=1)
    reader = MetricsReader.attach(operant_pages / "p")
    for number in range(1, 101):
        writer.publish({"first": number}, number, number)
    for i in range(500):
        writer.publish({f"later/{i}": i, "first": 101 + i}, 101 + i, 101 + i)
    assert reader.num_rejected_metrics() == 0
    assert len(reader.read().metrics) == 501
    assert [publish_of(row) for row in reader.rows().records] == list(range(1, 601))


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=60), num_bytes=st.integers(0, 4000))
def test_the_newest_rows_are_read_from_the_end(tmp_path_factory, sizes, num_bytes):
    path = tmp_path_factory.mktemp("ring") / "page"
    writer = MetricsWriter.create(
        path, "run", publish_interval_s=1, max_metrics=12, rows_bytes=1600
    )
    for number, size in enumerate(sizes, 1):
        writer.publish(dict.fromkeys(NAMES[:size], 1.0), number, number)
    section = MetricsReader.attach(path).header.layout["ROWS"]
    fd = os.open(path, os.O_RDONLY)
    ring = RowRingReader(lambda size, offset: os.pread(fd, size, offset), section)
    all_rows, newest = ring.read().records, ring.newest(num_bytes)
    assert len(ring.newest(1 << 20)) == len(all_rows)
    os.close(fd)
    writer.remove()
    assert newest == all_rows[::-1][: len(newest)]
    assert sum(len(record) + 8 for record in newest) <= num_bytes


def test_a_position_beyond_the_end_of_the_ring_begins_at_its_oldest_row(operant_pages):
    """A reader that goes on with a position of another page."""
    long = MetricsWriter.create(operant_pages / "p", "run", publish_interval_s=1)
    short = MetricsWriter.create(operant_pages / "q", "run", publish_interval_s=1)
    for number in range(1, 11):
        long.publish({"a": number}, number, number)
    for number in range(1, 4):
        short.publish({"a": -number}, number, number)
    _, position = MetricsReader.attach(operant_pages / "p").rows()
    records, position = MetricsReader.attach(operant_pages / "q").rows(position)
    assert batch_of(records).values[0].tolist() == [-1, -2, -3]
    short.publish({"a": -4}, 4, 4)
    records, _ = MetricsReader.attach(operant_pages / "q").rows(position)
    assert batch_of(records).values[0].tolist() == [-4]


PUBLISH_FAST = """
import sys
from pathlib import Path
from operant.shared import MetricsWriter
path, num_publishes = Path(sys.argv[1]), int(sys.argv[2])
writer = MetricsWriter.create(path, "run", publish_interval_s=1, rows_bytes=1 << 16)
for number in range(1, num_publishes + 1):
    writer.publish({"a": number, f"b{number % 7}": number * 0.5}, number, number)
"""


def test_a_reader_that_is_lapped_meets_no_row_that_was_not_written(operant_pages):
    path, total = operant_pages / "p", 30_000
    process = subprocess.Popen([sys.executable, "-c", PUBLISH_FAST, str(path), str(total)])
    wait_for(path.exists)
    newest, position, reader = 0, 0, MetricsReader.attach(path)
    while newest < total:
        assert process.poll() in (None, 0)
        records, position = reader.rows(position)
        for publish, env_steps, written in as_rows(records):
            assert publish > newest
            newest = publish
            assert env_steps == publish
            values = sorted(struct.unpack("<d", bits)[0] for bits in written.values())
            assert values == [publish * 0.5, float(publish)]
    assert process.wait() == 0
    reader.detach()


@pytest.mark.parametrize(
    "names",
    [
        ["x" * 300 + "a", "x" * 300 + "b"],
        ["a\0b", "a\0c"],
        ["a\nb", "a b", "a\tb"],
        ["\ud800", "\ud801", "?"],
    ],
)
def test_names_that_agree_in_what_can_be_kept_stay_different(operant_pages, names):
    writer = MetricsWriter.create(operant_pages / "p", "run", publish_interval_s=1)
    for value, name in enumerate(names):
        writer.publish({name: value})
    metrics = MetricsReader.attach(operant_pages / "p").read().metrics
    assert list(metrics.values()) == list(range(len(names)))
    assert all(name.isprintable() for name in metrics)


def test_what_was_overwritten_during_a_look_is_none_of_its_rows(operant_pages):
    path = operant_pages / "p"
    writer = MetricsWriter.create(path, "run", publish_interval_s=1, rows_bytes=1 << 16)
    for number in range(1, 2001):
        writer.publish({"a": number}, number, number)
    fd, lapped = os.open(path, os.O_RDONLY), iter(range(2001, 2101))

    def pread(size: int, offset: int) -> bytes:
        if size > 16:  # of the rows, after the look at where they begin
            for number in lapped:
                writer.publish({"a": number}, number, number)
        return os.pread(fd, size, offset)

    section = MetricsReader.attach(path).header.layout["ROWS"]
    publishes = [publish_of(record) for record in RowRingReader(pread, section).read().records]
    os.close(fd)
    assert publishes[-1] == 2000
    assert publishes == list(range(publishes[0], 2001))


def test_a_torn_row_and_those_behind_it_are_left_for_the_next_look(operant_pages):
    path = operant_pages / "p"
    writer = MetricsWriter.create(path, "run", publish_interval_s=1)
    for number in range(1, 4):
        writer.publish({"a": number}, number, number)
    fd, is_torn = os.open(path, os.O_RDONLY), True

    def pread(size: int, offset: int) -> bytes:
        data = bytearray(os.pread(fd, size, offset))
        if is_torn and size > 16:
            data[size // 2] ^= 1  # in the second of three rows
        return bytes(data)

    reader = RowRingReader(pread, MetricsReader.attach(path).header.layout["ROWS"])
    first = reader.read()
    is_torn = False
    second = reader.read(first.position)
    os.close(fd)
    assert [publish_of(record) for record in first.records] == [1]
    assert [publish_of(record) for record in second.records] == [2, 3]
