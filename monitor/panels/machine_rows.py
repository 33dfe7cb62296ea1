"""Rows of the machine's pane: a label, what it is now, and how it went."""

from __future__ import annotations

from collections.abc import Sequence

from ..look.formatting import format_bytes
from ..look.lines import Line, fit, line_width

LABEL_WIDTH, VALUE_WIDTH = 6, 16
_WIDE_FROM, _WIDE_VALUE_WIDTH = 70, 36
MIN_HISTORY_WIDTH = 6
LEVELS = "▁▂▃▄▅▆▇█"
_FULL = 0.95
_CAN_RUN_FULL = ("ram", "vram", "all")


def row(label: str, value: str, shares: Sequence[float], width: int, more: str = "") -> Line:
    """Label, value, and what is left of `width` as a small history, newest at the right; `more` of
    the value where there is much room.
    """
    is_wide = width >= _WIDE_FROM
    value_width = _WIDE_VALUE_WIDTH if is_wide else VALUE_WIDTH
    line: Line = [
        (fit(label, LABEL_WIDTH), "dim"),
        (fit(value + more if is_wide else value, value_width), "strong"),
    ]
    room = width - line_width(line) - 1
    if room < MIN_HISTORY_WIDTH:
        return line
    is_full = bool(shares) and shares[-1] > _FULL and label in _CAN_RUN_FULL
    return [*line, (" ", "text"), *history(shares, room, "error" if is_full else "focus")]


def history(shares: Sequence[float], width: int, style: str = "focus") -> Line:
    """The newest of `shares` at the right end of `width` cells."""
    text = "".join(level(share) for share in list(shares)[-width:])
    return [(" " * (width - len(text)), "text"), (text, style)]


def word_row(label: str, text: str, width: int, style: str = "strong") -> Line:
    """Label and words, no history; as wide as they are, up to `width`."""
    room = max(0, width - LABEL_WIDTH)
    return [(fit(label, LABEL_WIDTH), "dim"), (fit(text, room), style)]


def level(share: float) -> str:
    """A share from 0 to 1 as one cell that is filled as high."""
    place = min(max(round(share * len(LEVELS)), 0), len(LEVELS))
    return LEVELS[place - 1] if place else LEVELS[0]


def format_of_total(used: float, total: float) -> str:
    """5.0 of 16.0 GiB: the unit once, where both have the same."""
    of = format_bytes(total)
    return f"{format_bytes(used).removesuffix(of[-4:])} of {of}"
