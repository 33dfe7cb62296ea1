"""A page may be missing, short, foreign, damaged or from the future: always a PageError."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operant.shared import Metric, MetricsReader, MetricsWriter, PageError, Snapshot
from operant.shared.page.layout import HEADER_CRC_OFFSET
from operant.shared.rows.curves import Curves


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("good")
    writer = MetricsWriter.create(
        folder / "p", "run", [Metric("a")], publish_interval_s=1, max_metrics=2, rows_bytes=4096
    )
    for number in range(1, 101):
        writer.publish({"a": number})
    writer.event("info", "hello")
    writer.save_copy(folder / "page")
    return (folder / "page").read_bytes()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "page"


def read_all(path) -> Snapshot | None:
    """Everything a reader can be asked; the snapshot."""
    reader = MetricsReader.attach(path)
    try:
        snapshot = reader.read()
        reader.schema()
        Curves(None, reader).history().series("a")
        reader.events()
        reader.rows()
        reader.outcome()
        reader.num_rejected_metrics()
        return snapshot
    finally:
        reader.detach()


def with_header(good: bytes, offset: int, format: str, value: object) -> bytes:
    """`good` with one field of the header changed and its CRC made right again."""
    page = bytearray(good)
    struct.pack_into(format, page, offset, value)
    struct.pack_into("<I", page, HEADER_CRC_OFFSET, zlib.crc32(page[:HEADER_CRC_OFFSET]))
    return bytes(page)


@pytest.mark.parametrize(
    ("offset", "format", "value", "reason"),
    [
        (0, "<8s", b"NOTOURS!", "not an operant page"),
        (8, ">I", 0x01020304, "byte order"),
        (12, "<H", 4, r"4\.0 is newer"),
        (12, "<I", 2 | 1 << 16, "made by operant 0.3, which reads it"),
        (12, "<H", 0, r"0\.0 is unknown"),
        (1016, "<Q", 0, "not ready"),
        (20, "<I", 1000, "1000 sections"),
        (24, "<Q", 2**62, "claims"),
        (264, "<Q", 2**40, "lies outside"),
    ],
)
def test_the_error_says_what_is_wrong_with_the_header(good, path, offset, format, value, reason):
    path.write_bytes(with_header(good, offset, format, value))
    with pytest.raises(PageError, match=reason):
        read_all(path)


def test_a_damaged_header_is_noticed(good, path):
    page = bytearray(good)
    page[100] ^= 1
    path.write_bytes(page)
    with pytest.raises(PageError, match="damaged"):
        read_all(path)


def test_a_newer_minor_version_with_an_unknown_section_is_read(good, path):
    page = with_header(good, 14, "<H", 7)
    num_sections = struct.unpack_from("<I", page, 20)[0]
    page = with_header(page, 20, "<I", num_sections + 1)
    entry = struct.pack("<8sQQII", b"FUTURE", 1024, 64, 64, 1)
    page = with_header(page, 256 + 32 * num_sections, "<32s", entry)
    path.write_bytes(page)
    assert MetricsReader.attach(path).read().metrics == {"a": 100.0}


def test_files_that_are_no_pages_are_refused(path, tmp_path):
    for content in (b"", b"short", b"\0" * 100_000, b"x" * 100_000):
        path.write_bytes(content)
        with pytest.raises(PageError):
            read_all(path)
    with pytest.raises(PageError, match="No such file"):
        read_all(tmp_path / "missing")
    with pytest.raises(PageError):
        read_all(tmp_path)


@settings(max_examples=200, deadline=None)
@given(size=st.integers(0, 200_000))
def test_a_page_cut_short_is_an_error_or_empty(good, path, size):
    path.write_bytes(good[:size])
    with pytest.raises(PageError):
        read_all(path)


def test_a_page_cut_short_under_a_reader_is_an_error(good, path):
    path.write_bytes(good)
    reader = MetricsReader.attach(path)
    assert reader.read() is not None
    with path.open("r+b") as file:
        file.truncate(1650)
    with pytest.raises(PageError, match="cut short"):
        reader.read()


@settings(max_examples=400, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 120_000), st.integers(1, 255)), max_size=30))
def test_of_flipped_bytes_nothing_is_read_but_what_was_published(good, path, flips):
    page = bytearray(good)
    for position, bits in flips:
        page[position % len(page)] ^= bits
    path.write_bytes(page)
    try:
        snapshot = read_all(path)
    except PageError:
        return
    assert snapshot is None or snapshot.metrics == {"a": float(snapshot.publish)}
