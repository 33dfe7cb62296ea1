"""Frames of pixels in cells."""

from __future__ import annotations

import numpy as np
import pytest

from operant.monitor.render.half_blocks import draw_frame
from operant.monitor.render.lines import line_width

RED, BLUE = (255, 0, 0), (0, 0, 255)


def flag(height: int, width: int) -> np.ndarray:
    """Red above, blue below."""
    pixels = np.full((height, width, 3), BLUE, np.uint8)
    pixels[: height // 2] = RED
    return pixels


def test_two_pixels_of_a_column_are_one_cell():
    # 4 x 2 pixels into 2 cells across and 1 down: each cell has red above and blue below
    lines = draw_frame(flag(4, 4), 2, 1, "256", False)
    assert lines == [[("", "text"), ("▀▀", "#ff0000 on #0000ff")]]


def test_a_frame_keeps_its_shape_in_the_middle():
    # 40 x 10 pixels into 20 x 20 cells: 20 across, 5 pixels or 2 cells down, 9 above
    lines = draw_frame(flag(10, 40), 20, 20, "truecolor", False)
    assert [line_width(line) for line in lines] == [0] * 9 + [20] * 2


@pytest.mark.parametrize(("is_ascii", "shades"), [(False, " █"), (True, " @")])
def test_without_colours_there_are_shades(is_ascii, shades):
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[2:] = 255
    lines = draw_frame(pixels, 4, 2, None, is_ascii)
    assert ["".join(text for text, _ in line) for line in lines] == [4 * s for s in shades]


def test_a_frame_of_one_colour_is_no_division_by_zero():
    assert draw_frame(np.zeros((3, 3, 3), np.uint8), 2, 1, None, False) == [
        [("", "text"), ("  ", "text")]
    ]
