"""The lines of the whole screen: a heading, the scene or frame, and the keys.

Frames of pixels are drawn as half blocks, with two pixels in each cell, one above the other.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...shared.episodes.scene import Frame, Moment
from ..render.canvas import Canvas
from ..render.lines import Line, fit_line, line_width, spread
from .dots import draw_scene
from .keys import AGENT_HINT, HINTS
from .looks import agent_style
from .player import Player

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


SMALLEST = (40, 12)  # columns and rows


def too_small(width: int, height: int) -> str:
    """Why nothing can be seen in a terminal of that size; empty where something can."""
    if width >= SMALLEST[0] and height >= SMALLEST[1]:
        return ""
    return f"the terminal has {width}x{height} cells, and play needs {SMALLEST[0]}x{SMALLEST[1]}"


def screen_lines(
    player: Player, width: int, height: int, color_system: str | None, is_ascii: bool
) -> list[Line]:
    """The lines of the screen, one per row."""
    reason = too_small(width, height)
    if reason:
        lines = textwrap.wrap(reason, max(1, width))[:height]
        return [[(line, "text")] for line in lines] + [[]] * (height - len(lines))
    moment = player.moment()
    top = [head(player, moment, width)]
    if player.episodes.num_agents > 1:
        top.append(agents_line(moment, player.selected, width))
    rows = height - len(top) - 1
    if isinstance(moment.view, Frame):
        body = draw_frame(moment.view.pixels, width, rows, color_system, is_ascii)
    else:
        canvas = Canvas(width, rows)
        draw_scene(canvas, moment.view)
        body = canvas.lines()
    body = [*body, *([] for _ in range(rows - len(body)))]
    return [*top, *body, key_line(player.episodes.num_agents, width)]


def head(player: Player, moment: Moment, width: int) -> Line:
    """Which episode this is, how far it is, what came of it, and how fast: where there is little
    room, what matters least goes first.
    """
    env: Line = [(f" {player.episodes.env} ", "bar_strong")]
    which: Line = [(f" episode {player.number}  seed {player.seed} ", "bar_dim")]
    step: Line = [(" step ", "bar_dim"), (f"{moment.step} ", "bar_text")]
    result: Line = [(" over ", "bar_strong")] if moment.is_over else []
    if len(moment.returns) == 1:
        ending = f" {moment.endings[0]} " if moment.endings[0] else ""
        result = [(" return ", "bar_dim"), (f"{moment.returns[0]:.1f} ", "bar_text")]
        result += [(ending, "bar_strong")]
    speed = f"{player.speed:g} steps/s "
    right: Line = [(f" paused, {speed}" if player.is_paused else f" {speed}", "bar_dim")]
    title: Line = [(f" {player.title} ", "bar_dim")]
    choices = (
        (env + which + step + result, title + right),
        (env + which + step + result, right),
        (env + step + result, right),
        (step + result, [(" paused ", "bar_dim")] if player.is_paused else right),
    )
    for left, at_right in choices:
        if line_width(left) + line_width(at_right) <= width:
            break
    return fit_line(spread(left, at_right, width, "bar_text"), width, "bar_text")


def agents_line(moment: Moment, selected: int, width: int) -> Line:
    """Each agent's number, return and how its episode ended."""
    line: Line = []
    for agent, (return_, ending) in enumerate(zip(moment.returns, moment.endings, strict=True)):
        mark = ">" if agent == selected else " "
        suffix = f" {ending}" if ending else ""
        number = agent_style(agent) if not ending else "dim"
        line += [(f"{mark}{agent + 1}", "strong" if agent == selected else number)]
        line += [(f" {return_:.1f}{suffix} ", "dim" if ending else "text")]
    return fit_line(line, width, "text")


def key_line(num_agents: int, width: int) -> Line:
    """The keys that fit into the line; the key to leave is always among them."""
    *others, leave = (*HINTS[:-1], AGENT_HINT, HINTS[-1]) if num_agents > 1 else HINTS
    left = width - 1 - sum(map(len, leave)) - 3
    shown = []
    for key, meaning in others:
        left -= len(key) + len(meaning) + 3
        if left < 0:
            break
        shown.append((key, meaning))
    line: Line = [(" ", "bar_dim")]
    for key, meaning in (*shown, leave):
        line += [(key, "bar_strong"), (f" {meaning}  ", "bar_dim")]
    return fit_line(line, width, "bar_dim")
