"""What goes through the pipe: frames of a JSON head and a body of bytes.

8 bytes   MAGIC
4 bytes   length of the head, little-endian
4 bytes   length of the body
...       the head: one JSON object, NaN and infinities written as Python writes them
...       the body
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any, NamedTuple

from ...shared.errors import OperantError

PROTOCOL = 1
MAGIC = b"\x00OPRNT\x01\n"
MAX_GREETING_BYTES = 1 << 16  # what a shell's start-up files may print before the first frame
MAX_HEAD_BYTES = 1 << 21
MAX_BODY_BYTES = 1 << 24

_LENGTHS = struct.Struct("<II")


class StreamError(OperantError):
    """What came through the pipe is no stream of operant."""


class Frame(NamedTuple):
    """One look at a run."""

    head: dict[str, Any]
    body: bytes = b""


def write_frame(out: IO[bytes], frame: Frame) -> None:
    head = json.dumps(frame.head).encode()
    out.write(b"".join((MAGIC, _LENGTHS.pack(len(head), len(frame.body)), head, frame.body)))
    out.flush()


def skip_greeting(source: IO[bytes]) -> bool:
    """Read up to the first frame, its MAGIC included; False when the source ends before."""
    seen = bytearray()
    while not seen.endswith(MAGIC):
        byte = source.read(1)
        if not byte:
            return False
        if len(seen) > MAX_GREETING_BYTES:
            raise StreamError("the other machine did not send an operant stream")
        seen += byte
    return True


def read_frame(source: IO[bytes], *, magic_was_read: bool = False) -> Frame | None:
    """The next frame; None where the source ends. Raises StreamError on anything else."""
    if not magic_was_read:
        magic = source.read(len(MAGIC))
        if not magic:
            return None
        if magic != MAGIC:
            raise StreamError("the stream is damaged")
    head_bytes, body_bytes = _LENGTHS.unpack(_whole(source, _LENGTHS.size))
    if head_bytes > MAX_HEAD_BYTES or body_bytes > MAX_BODY_BYTES:
        raise StreamError(f"a frame claims {head_bytes} + {body_bytes} bytes")
    raw, body = _whole(source, head_bytes), _whole(source, body_bytes)
    try:
        head = json.loads(raw)
    except (ValueError, RecursionError):
        raise StreamError("the stream is damaged") from None
    if not isinstance(head, dict):
        raise StreamError("the stream is damaged")
    return Frame(head, body)


def _whole(source: IO[bytes], size_bytes: int) -> bytes:
    data = source.read(size_bytes)
    if len(data) < size_bytes:
        raise StreamError("the stream broke off")
    return data
