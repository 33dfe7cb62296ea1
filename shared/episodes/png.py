"""Pictures as PNG files, several in a row as animated ones (APNG), with the standard library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}  # grey, RGB, RGBA


def png(pixels: NDArray[Any]) -> bytes:
    """The picture `pixels` [height, width, 1, 3 or 4], uint8, as a PNG file."""
    return _SIGNATURE + _head(pixels) + _chunk(b"IDAT", _packed(pixels)) + _chunk(b"IEND", b"")


def animated_png(frames: Sequence[NDArray[Any]], fps: float) -> bytes:
    """`frames`, each as for `png` and of one shape, as a PNG file that repeats for ever."""
    if len(frames) == 1:
        return png(frames[0])
    height, width, _ = frames[0].shape
    delay_ms = max(1, min(65535, round(1000 / fps)))
    parts = [_SIGNATURE, _head(frames[0]), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    sequence = 0
    for number, frame in enumerate(frames):
        control = (sequence, width, height, 0, 0, delay_ms, 1000, 0, 0)
        parts.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", *control)))
        sequence += 1
        if number == 0:
            parts.append(_chunk(b"IDAT", _packed(frame)))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + _packed(frame)))
            sequence += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _head(pixels: NDArray[Any]) -> bytes:
    height, width, channels = pixels.shape
    return _chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    )


def _packed(pixels: NDArray[Any]) -> bytes:
    """Rows, each after its filter type 0, compressed fast rather than small."""
    return zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 3)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
