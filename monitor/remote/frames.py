"""What goes through the pipe: frames of a JSON head and a body of bytes.

8 bytes   MAGIC
4 bytes   length of the head, little-endian
4 bytes   length of the body
...       the head: one JSON object
...       the body, compressed: a piece of a file
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from ...shared.errors import OperantError
from ...shared.runs.run_elsewhere import MAX_REPORT_BYTES, REPORT_FILE
from ...shared.runs.run_folder import DIFF_FILE, PACKAGES_FILE
from ...shared.runs.run_notes import (
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    MAX_NOTES_BYTES,
    NOTES_FILE,
)

PROTOCOL = 2
MAGIC = b"\x00OPRNT\x01\n"
MAX_GREETING_BYTES = 1 << 16  # what a shell's start-up files may print before the first frame
MAX_HEAD_BYTES = 1 << 12
MAX_BODY_BYTES = 1 << 24  # also before it was compressed

MACHINE_FILE, PLACE_FILE, PAGE_FILE = "machine.json", "place.json", "page"
ROWS_FILE, MAX_ROWS_BYTES = "rows.sqlite", 1 << 27  # written row by row, see `mirrored_rows.py`
TAIL_BYTES = 1 << 22  # of a file that grows; once it is longer its end is sent anew
# The files that a stream may write into the folder of a run, and how long each may be.
MOST_BYTES: Mapping[str, int] = {
    REPORT_FILE: MAX_REPORT_BYTES,
    MACHINE_FILE: 1 << 20,
    MANIFEST_FILE: MAX_MANIFEST_BYTES,
    NOTES_FILE: MAX_NOTES_BYTES,
    DIFF_FILE: 1 << 20,
    PACKAGES_FILE: 1 << 20,
    PLACE_FILE: 0,  # only that it is there
    PAGE_FILE: 1 << 26,
    "events.log": TAIL_BYTES,
    "console.log": TAIL_BYTES,
}

_LENGTHS = struct.Struct("<II")


class StreamError(OperantError):
    """What came through the pipe is no stream of operant."""


class Frame(NamedTuple):
    """A piece of a file: `head` says which, see `mirror.Piece`."""

    head: dict[str, Any]
    data: bytes = b""


def write_frame(out: IO[bytes], frame: Frame) -> None:
    head, body = json.dumps(frame.head).encode(), zlib.compress(frame.data, 1)
    out.write(b"".join((MAGIC, _LENGTHS.pack(len(head), len(body)), head, body)))
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
    inflate = zlib.decompressobj()
    try:
        head = json.loads(raw)
        data = inflate.decompress(body, MAX_BODY_BYTES + 1)
    except (ValueError, RecursionError, zlib.error):
        raise StreamError("the stream is damaged") from None
    if not isinstance(head, dict) or not inflate.eof or len(data) > MAX_BODY_BYTES:
        raise StreamError("the stream is damaged")
    return Frame(head, data)


def _whole(source: IO[bytes], size_bytes: int) -> bytes:
    data = source.read(size_bytes)
    if len(data) < size_bytes:
        raise StreamError("the stream broke off")
    return data
