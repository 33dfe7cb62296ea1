"""The colours of the monitor, a calm dark theme. Drawings name a style; here it gets its look."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache

from rich.style import Style


@dataclass(frozen=True)
class Palette:
    """Colours by what they mean. `series` are those of curves and phases; `spread` is the range
    behind every curve, in a dim shade of the curve's own colour where it is empty.
    """

    background: str = "#0f141b"
    bar: str = "#19212b"
    cursor: str = "#22303f"
    text: str = "#c3ccd6"
    strong: str = "#eef2f6"
    dim: str = "#7f8c9a"
    faint: str = "#2c3642"
    border: str = "#33404d"
    focus: str = "#6f9fc8"
    good: str = "#8cc28c"
    done: str = "#7fb4d8"
    warning: str = "#e2b565"
    error: str = "#e57d78"
    quiet: str = "#9aa5b1"
    spread: str = ""
    series: tuple[str, ...] = (
        "#8cc28c",
        "#e0a86a",
        "#78a9e0",
        "#b79ae0",
        "#6fc3bb",
        "#d891b0",
        "#c9c36f",
        "#9aa9bb",
    )


DARK = Palette()
# For terminals of 256 colours, as most are over ssh: they have no dim colours, only dim greys.
COARSE = Palette(
    background="#000000",
    bar="#262626",
    cursor="#303030",
    faint="#303030",
    border="#4e4e4e",
    dim="#8a8a8a",
    spread="#444444",
)
_DIM_SHARE = 0.22

# Groups people know keep their colour from run to run; others get one by their name.
_SERIES_OF_GROUP = {
    "episode": 0,
    "evaluation": 0,
    "loss": 1,
    "policy": 2,
    "value": 3,
    "speed": 4,
    "optimizer": 5,
}
_SERIES_OF_PHASE = {
    "collect": 2,
    "learn": 1,
    "evaluate": 0,
    "checkpoint": 3,
    "publish": 4,
    "environment": 5,
    "inference": 6,
    "copy": 7,
}


@cache
def styles_for(color_system: str | None) -> dict[str, Style]:
    """The styles for what a terminal can show, as rich names it."""
    return make_styles(DARK if color_system == "truecolor" else COARSE)


def make_styles(palette: Palette) -> dict[str, Style]:
    """Every style by its name: `bar_` for the first and the last row of a screen, `cursor_` for the
    row that is selected, `block` for text on a series' colour.
    """
    plain = vars(palette).copy()
    del plain["series"], plain["spread"]
    background = palette.background
    styles: dict[str, Style] = {}
    for name, color in plain.items():
        bold = name == "strong"
        styles[name] = Style(color=color, bgcolor=background, bold=bold)
        styles[f"bar_{name}"] = Style(color=color, bgcolor=palette.bar, bold=bold)
        styles[f"cursor_{name}"] = Style(color=color, bgcolor=palette.cursor, bold=bold)
    for i, color in enumerate(palette.series):
        dim = palette.spread or _mixed(color, background, _DIM_SHARE)
        styles[f"series{i}"] = Style(color=color, bgcolor=background)
        styles[f"series{i}_dim"] = Style(color=dim, bgcolor=background)
        styles[f"block{i}"] = Style(color=background, bgcolor=color)
    return styles


def series_of_group(group: str) -> int:
    """The place in `Palette.series` of the curves of a group of metrics."""
    return _place(_SERIES_OF_GROUP, group)


def series_of_phase(phase: str) -> int:
    """The place in `Palette.series` of a phase of an iteration."""
    return _place(_SERIES_OF_PHASE, phase)


def _mixed(color: str, background: str, share: float) -> str:
    """`share` of `color` and the rest of `background`, both #rrggbb."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(background[1:]), strict=True)
    return "#" + bytes(round(share * a + (1 - share) * b) for a, b in pairs).hex()


def _place(known: dict[str, int], name: str) -> int:
    return known.get(name, zlib.crc32(name.encode("utf-8", "replace")) % len(DARK.series))
