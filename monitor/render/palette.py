"""The colours of the monitor, by theme. Drawings name a style; here it gets its look."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
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
LIGHT = Palette(
    background="#fbfbf9", bar="#e7e9ec", cursor="#d7e3f0", text="#2f3a45", strong="#0b1118",
    dim="#65717d", faint="#d5dade", border="#b4bcc5", focus="#1f6fb2", good="#2c7a2c",
    done="#1f6fb2", warning="#9a6200", error="#b3261e", quiet="#56616c",
    series=("#2c7a2c", "#b35c00", "#1f5fb2", "#7440b8", "#0d7a73", "#b02a6b", "#7a7000", "#4c5a69"),
)  # fmt: skip
# Okabe and Ito, "Color universal design", 2008: distinct with every kind of colour vision. States
# have no green beside a red.
COLOUR_BLIND = Palette(
    background="#101010", bar="#222222", cursor="#303030", text="#d0d0d0", strong="#ffffff",
    dim="#9a9a9a", faint="#333333", border="#4a4a4a", focus="#56b4e9", good="#56b4e9",
    done="#0072b2", warning="#f0e442", error="#d55e00", quiet="#999999",
    series=("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#bbbbbb"),
)  # fmt: skip
CONTRAST = Palette(
    background="#000000", bar="#1c1c1c", cursor="#003a66", text="#ffffff", strong="#ffffff",
    dim="#c8c8c8", faint="#4a4a4a", border="#9a9a9a", focus="#00d7ff", good="#5fff5f",
    done="#5fd7ff", warning="#ffd700", error="#ff6b6b", quiet="#d0d0d0",
    series=("#5fff5f", "#ffaf5f", "#5fafff", "#d7afff", "#5fffff", "#ff87d7", "#ffff5f", "#d0d0d0"),
)  # fmt: skip
THEMES = {
    "dark": DARK,
    "light": LIGHT,
    "colour-blind": COLOUR_BLIND,
    "contrast": CONTRAST,
    "plain": DARK,  # without any colour
}
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
# Of a series' colour in the shades of a canvas's heat.
_HEAT_SHARES = (0.16, 0.28, 0.4, 0.52, 0.64, 0.76, 0.88, 1.0)

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
    "copy": 3,
    "all_reduce": 5,  # of several ranks, which have no `environment`
    "other": 7,
}


@cache
def styles_for(color_system: str | None, theme: str = "dark") -> dict[str, Style]:
    """The styles of one of `THEMES` for what a terminal can show, as rich names it."""
    if theme == "plain" or color_system is None:
        return plain_styles()
    palette = THEMES[theme]
    if color_system != "truecolor":
        palette = COARSE if palette is DARK else replace(palette, spread="#767676")
    return make_styles(palette)


def plain_styles() -> dict[str, Style]:
    """Every style without a colour: bold, dim and reversed instead."""
    styles = {}
    for name in make_styles(DARK):
        kind = name.removeprefix("bar_").removeprefix("cursor_")
        is_reversed = name.startswith(("bar_", "cursor_"))
        if name.startswith("block"):
            is_reversed = int(name[-1]) % 2 == 0
        styles[name] = Style(
            bold=kind in ("strong", "focus", "error", "warning"),
            dim=kind in ("dim", "faint", "border") or name.endswith("_dim"),
            reverse=is_reversed,
            underline=name.startswith("block") and not is_reversed,
        )
    return styles


def make_styles(palette: Palette) -> dict[str, Style]:
    """Every style by its name: `bar_` for the first and the last row of a screen, `cursor_` for the
    row that is selected, `block` for text on a series' colour, `heat` for shades of it.
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
        for level, share in enumerate(_HEAT_SHARES, 1):
            shade = _mixed(color, background, share)
            styles[f"series{i}_heat{level}"] = Style(color=shade, bgcolor=shade)
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
