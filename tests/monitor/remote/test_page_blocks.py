"""A mirror is what the page is, whatever changed in it, and takes no nonsense."""

from __future__ import annotations

import contextlib
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.remote.frames import StreamError
from operant.monitor.remote.page_blocks import BLOCK_BYTES, PageBlocks, PageMirror
from operant.shared import MetricsReader, MetricsWriter
from operant.shared.rows.curves import Curves


@pytest.fixture
def page(operant_pages):
    writer = MetricsWriter.create(operant_pages / "a.page", "run", [], publish_interval_s=1.0)
    yield writer
    writer.remove()


def test_a_mirror_follows_publish_by_publish(page):
    reader, blocks = MetricsReader.attach(page.path), PageBlocks()
    mirror = PageMirror(reader.header.layout.page_bytes)
    there = None
    for number in range(1, 200):
        page.publish({"loss": 1 / number, "speed": number}, number, 10 * number)
        page.event("info", f"event {number}")
        if number % 7 == 0:
            mirror.apply(blocks.changes(reader))
            there = there or mirror.open()
            assert there.read() == reader.read()
            assert there.events()[-1].text == f"event {number}"
            np.testing.assert_array_equal(
                Curves(None, there).history().series("loss").mean,
                Curves(None, reader).history().series("loss").mean,
            )
    assert blocks.changes(reader) != b""
    assert blocks.changes(reader) == b""  # nothing new, nothing sent


def test_a_mirrored_page_is_small_on_the_way(page):
    page.publish({f"metric {i}": i for i in range(64)}, 1, 1)
    reader, blocks = MetricsReader.attach(page.path), PageBlocks()
    assert len(blocks.changes(reader)) < reader.header.layout.page_bytes / 100
    page.publish({f"metric {i}": i + 1 for i in range(64)}, 2, 2)
    assert len(blocks.changes(reader)) < 16 * BLOCK_BYTES


@given(st.binary(max_size=300))
def test_bytes_that_are_no_blocks_are_refused_or_harmless(changes):
    mirror = PageMirror(4 * BLOCK_BYTES)
    with contextlib.suppress(StreamError):
        mirror.apply(changes)
    assert os.fstat(mirror._file.fileno()).st_size == 4 * BLOCK_BYTES
    mirror.close()


def test_a_block_outside_the_page_and_one_that_swells_are_refused():
    mirror = PageMirror(4 * BLOCK_BYTES)
    outside, bomb = zlib.compress(b"x" * BLOCK_BYTES), zlib.compress(bytes(50_000_000))
    for number, data in ((4, outside), (2**32 - 1, outside), (0, bomb)):
        with pytest.raises(StreamError):
            mirror.apply(struct.pack("<II", number, len(data)) + data)
    with pytest.raises(StreamError):
        PageMirror(1 << 40)


def test_a_block_that_comes_twice_in_a_frame_is_refused():
    mirror, data = PageMirror(4 * BLOCK_BYTES), zlib.compress(b"x" * BLOCK_BYTES)
    block = struct.pack("<II", 1, len(data)) + data
    mirror.apply(block)
    with pytest.raises(StreamError):
        mirror.apply(block + block)
