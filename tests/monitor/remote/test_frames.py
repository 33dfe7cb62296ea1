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
    with pytest.raises(StreamError, match="no operant stream"):
        skip_greeting(io.BytesIO(b"x" * (MAX_GREETING_BYTES + 99)))
    assert not skip_greeting(io.BytesIO(b"Last login: today\n"))


@given(st.data())
def test_a_damaged_or_cut_stream_is_an_error_and_nothing_worse(data):
    whole = bytearray(encoded(Frame({"status": {"a": 1}}, b"0123456789")))
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        whole[place] ^= data.draw(st.integers(1, 255))
    else:
        del whole[place:]
    source = io.BytesIO(bytes(whole))
    try:
        while read_frame(source):
            pass
    except StreamError:
        pass
