"""Images (arrays, tensors, PIL, matplotlib) and videos as PNG files."""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_VALUES = 64 << 20  # in one image or video, before compression
MAX_DIMENSIONS = 32
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}  # grey, RGB, RGBA


def picture_bytes(picture: Any, channels_first: bool | None = None) -> bytes:
    """Encode `picture` as a PNG file: a PIL image, a matplotlib figure (or pyplot itself), or an
    array or tensor [height, width], [height, width, channels], or, `channels_first`, [channels,
    height, width], with 1, 3 or 4 channels; a batch of those becomes a grid. None takes tensors of
    torch as channels first where their first size can be that.

    Raises ValueError for anything else.
    """
    if hasattr(picture, "savefig"):
        return _saved(picture.savefig, format="png")
    if hasattr(picture, "save") and hasattr(picture, "convert"):
        fits = getattr(picture, "mode", "") in ("1", "L", "LA", "P", "RGB", "RGBA", "I")
        return _saved((picture if fits else picture.convert("RGB")).save, format="PNG")
    return _png(grid(pixels_of(picture, channels_first)))


def video_bytes(frames: Any, fps: float) -> bytes:
    """Encode `frames` [time, channels, height, width], or a batch of videos, as an animated PNG."""
    values = array_of(frames)
    if values.ndim == 5:
        # A batch plays side by side: [N, T, C, H, W] -> [T, C, H, N * W]
        batch, time, channels, height, width = values.shape
        values = values.transpose(1, 2, 3, 0, 4).reshape(time, channels, height, batch * width)
    if values.ndim != 4 or not values.shape[0]:
        raise ValueError(
            f"a video has the shape [time, channels, height, width], not {values.shape}"
        )
    return _animated_png(list(pixels_of(values, True)), fps or 4)


def array_of(values: Any) -> NDArray[Any]:
    """An array, a tensor or a list as a numpy array. Raises ValueError if it is too large, or not
    of numbers.
    """
    import numpy as np

    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
        values = values.numpy()
    _check_extent(values)
    array: NDArray[Any] = np.asanyarray(values)  # a mask stays
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{type(values).__name__} is not an array of numbers")
    if array.size > MAX_VALUES:
        raise ValueError(f"{array.size} values are more than {MAX_VALUES}")
    return array


def _check_extent(values: Any) -> None:
    """Raise ValueError for too many values before numpy unfolds them: a range may have a trillion,
    and forty lists of which each contains the next one twice have as many.
    """
    size, levels = 1, 0
    while isinstance(values, list | tuple | range) and values:
        size, levels = size * len(values), levels + 1
        if size > MAX_VALUES or levels > MAX_DIMENSIONS:
            raise ValueError(f"more than {MAX_VALUES} values")
        values = values[0]


def pixels_of(picture: Any, channels_first: bool | None = None) -> NDArray[Any]:
    """The pixels [N, height, width, channels], uint8. Real numbers from 0 to 1, or from -1 to 1,
    are scaled to 0 to 255.
    """
    is_tensor = hasattr(picture, "detach")
    values = array_of(picture)
    if values.ndim == 2:
        return _bytes(values[None, :, :, None])
    if values.ndim not in (3, 4):
        raise ValueError(f"a picture has two or three dimensions, not the shape {values.shape}")
    values = values if values.ndim == 4 else values[None]
    may_be_first = is_tensor and values.shape[1] in (1, 3, 4)
    if channels_first or (channels_first is None and may_be_first):
        values = values.transpose(0, 2, 3, 1)
    if values.shape[-1] not in (1, 3, 4) or not values.size:
        raise ValueError(f"a picture has 1, 3 or 4 channels, not the shape {values.shape[1:]}")
    return _bytes(values)


def grid(pictures: NDArray[Any]) -> NDArray[Any]:
    """Arrange [N, height, width, channels] as a grid of about sqrt(N) columns: [rows * height,
    columns * width, channels].
    """
    import numpy as np

    count, height, width, channels = pictures.shape
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    cells = np.zeros((rows * columns, height, width, channels), np.uint8)
    cells[:count] = pictures
    cells = cells.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    picture: NDArray[Any] = cells.reshape(rows * height, columns * width, channels)
    return picture


def _bytes(values: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    if values.dtype.kind == "b":
        return values.astype(np.uint8) * 255
    if values.dtype.kind == "f":
        values = np.nan_to_num(values)
        low, high = values.min(), values.max()
        if low >= 0 and high <= 1:
            values = values * 255
        elif low >= -1 and high <= 1:
            values = (values + 1) * 127.5
    pixels: NDArray[Any] = np.clip(values, 0, 255).astype(np.uint8)
    return pixels


def _saved(save: Any, **how: Any) -> bytes:
    into = io.BytesIO()
    save(into, **how)
    return into.getvalue()


def _png(pixels: NDArray[Any]) -> bytes:
    """Encode `pixels` [height, width, 1, 3 or 4], uint8, as a PNG file."""
    return _SIGNATURE + _head(pixels) + _chunk(b"IDAT", _packed(pixels)) + _chunk(b"IEND", b"")


def _animated_png(frames: Sequence[NDArray[Any]], fps: float) -> bytes:
    """Encode `frames`, of one shape, see `_png`, as an animated PNG file that repeats for ever."""
    if len(frames) == 1:
        return _png(frames[0])
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
    """The rows, with filter type 0 in front, compressed fast rather than small."""
    return zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 3)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
