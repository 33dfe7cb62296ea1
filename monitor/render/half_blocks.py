"""Frames of pixels in cells: half blocks, with two pixels in each cell, one above the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lines import Line

_UPPER_HALF = "▀"
_SHADES, _ASCII_SHADES = " ░▒▓█", " .:-=+*#%@"
_LEVELS_OF_256 = np.array([0, 95, 135, 175, 215, 255])  # levels of xterm's channels
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # weights of red, green and blue; ITU-R BT.709
_STEP = 8  # rounding of true colours: runs of equal cells take fewer bytes

Pixels = NDArray[np.uint8]


def draw_frame(
    pixels: Pixels, columns: int, rows: int, color_system: str | None, is_ascii: bool
) -> list[Line]:
    """Draw `pixels` [height, width, 3] as large as they fit into `columns` x `rows` cells, centred.
    Without colours, or with ASCII only, each cell is a shade.
    """
    height, width, _ = pixels.shape
    scale = min(columns / width, 2 * rows / height)
    across, down = max(1, int(width * scale)), max(1, int(height * scale / 2))
    left, above = (columns - across) // 2, (rows - down) // 2
    if color_system is None or is_ascii:
        shades = _ASCII_SHADES if is_ascii else _SHADES
        drawn = shaded(resized(pixels, down, across), shades)
    else:
        drawn = coloured(resized(pixels, 2 * down, across), color_system)
    margin = [(" " * left, "text")]
    return [*([] for _ in range(above)), *([*margin, *line] for line in drawn)]


def resized(pixels: Pixels, height: int, width: int) -> Pixels:
    """`pixels` in another size; each new pixel is the mean of the four that it covers."""
    places = [
        ((np.arange(2 * count) + 0.5) * size / (2 * count)).astype(np.intp)
        for count, size in zip((height, width), pixels.shape, strict=False)
    ]
    taken = pixels[places[0]][:, places[1]].astype(np.uint16)
    sums = taken[0::2, 0::2] + taken[0::2, 1::2] + taken[1::2, 0::2] + taken[1::2, 1::2]
    mean: Pixels = (sums >> 2).astype(np.uint8)
    return mean


def shaded(pixels: Pixels, shades: str) -> list[Line]:
    """A character for each pixel: the darkest pixel of the frame gets the darkest one."""
    light = pixels @ _LUMINANCE
    low, high = light.min(), light.max()
    places = ((light - low) / max(high - low, 1) * (len(shades) - 1) + 0.5).astype(np.intp)
    return [[("".join(shades[place] for place in row), "text")] for row in places.tolist()]


def coloured(pixels: Pixels, color_system: str) -> list[Line]:
    """A half block for every two pixels; the style holds both colours in rich's notation."""
    codes = _codes(pixels, color_system)
    pairs = codes[0::2] << 24 | codes[1::2]
    rows, columns = pairs.shape
    changes = np.ones(pairs.shape, np.bool_)
    changes[:, 1:] = pairs[:, 1:] != pairs[:, :-1]
    starts = np.flatnonzero(changes)
    lengths = np.diff(starts, append=pairs.size).tolist()
    lines: list[Line] = [[] for _ in range(rows)]
    for start, length, pair in zip(
        starts.tolist(), lengths, pairs.ravel()[starts].tolist(), strict=True
    ):
        style = f"#{pair >> 24:06x} on #{pair & 0xFFFFFF:06x}"
        lines[start // columns].append((_UPPER_HALF * length, style))
    return lines


def _codes(pixels: Pixels, color_system: str) -> NDArray[np.int64]:
    """0xrrggbb for each pixel, rounded to the terminal's colours."""
    if color_system == "truecolor":
        shown: NDArray[Any] = pixels // _STEP * _STEP + _STEP // 2
    else:
        borders = (_LEVELS_OF_256[1:] + _LEVELS_OF_256[:-1]) / 2
        shown = _LEVELS_OF_256[np.searchsorted(borders, pixels)]
    red, green, blue = np.moveaxis(shown.astype(np.int64), 2, 0)
    codes: NDArray[np.int64] = red << 16 | green << 8 | blue
    return codes
