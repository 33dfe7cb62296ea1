"""Frames come out of the pipe as they went in; anything else is a StreamError."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.remote.frames import (
    MAGIC,
    MAX_GREETING_BYTES,
    Frame,
    StreamError,
    read_frame,
    skip_greeting,
    write_frame,
)

heads = st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8), max_size=4)


def encoded(*frames: Frame) -> bytes:
    out = io.BytesIO()
    for frame in frames:
        write_frame(out, frame)
    return out.getvalue()


@given(st.lists(st.tuples(heads, st.binary(max_size=99)).map(lambda parts: Frame(*parts))))
def test_what_is_written_is_read(frames):
    source = io.BytesIO(encoded(*frames))
    assert [read_frame(source) for _ in frames] == frames
    assert read_frame(source) is None


@given(st.binary(max_size=200).filter(lambda greeting: MAGIC not in greeting))
def test_whatever_a_login_shell_prints_first_is_passed_over(greeting):
    source = io.BytesIO(greeting + encoded(Frame({"a": 1}, b"body")))
    assert skip_greeting(source)
    assert read_frame(source, magic_was_read=True) == Frame({"a": 1}, b"body")


def test_an_endless_greeting_is_no_stream():
    with pytest.raises(StreamError, match="did not send an operant stream"):
        skip_greeting(io.BytesIO(b"x" * (MAX_GREETING_BYTES + 99)))
    assert not skip_greeting(io.BytesIO(b"Last login: today\n"))


WHOLE = encoded(Frame({"status": {"a": 1}}, b"0123456789"))


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_damaged_stream_is_an_error_or_another_frame(place, flipped):
    damaged = bytearray(WHOLE)
    damaged[place] ^= flipped
    try:
        frame = read_frame(io.BytesIO(damaged))
    except StreamError:
        return
    assert frame is not None


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_a_stream_that_is_cut_inside_a_frame_is_an_error(length):
    with pytest.raises(StreamError):
        read_frame(io.BytesIO(WHOLE[:length]))
