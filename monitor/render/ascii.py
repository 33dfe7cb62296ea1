"""Screens for terminals that show ASCII alone: every character becomes one that looks like it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from rich.cells import cell_len

_LOOKS = {
    "─╴": "-", "┈": ".", "━╸": "=", "│┃": "|", "╭╮╰╯┌┐└┘├┤┬┴┼": "+", "█▌▐▊▉": "#", "░▒": ":",
    "▓": "%", "●★": "*", "○◌": "o", "◐": "o", "✗": "x", "✓": "v", "■": "#", "□": "&",
    "▲": "^", "△": "A", "▼▽▾": "v", "◆◇": "%",
    "▸▶": ">", "◂◀": "<", "↑": "^", "↓": "v", "←": "<", "→": ">", "…": "~",
    "·": "-", "µ": "u", "±": "~", "Δ": "D", "▁▂▃": "_", "▄▅▆▇": "=",
}  # fmt: skip
_BRAILLE = 0x2800
# The bits of a braille character by their row from above.
_ROW_BITS = (0x01 | 0x08, 0x02 | 0x10, 0x04 | 0x20, 0x40 | 0x80)


def _look_of_dots(bits: int) -> str:
    rows = [row for row, mask in enumerate(_ROW_BITS) if bits & mask]
    if not rows:
        return " "
    if len(rows) >= 3 or rows[-1] - rows[0] >= 2:
        return "|"
    # A line at the foot of a cell is no dotted rule.
    if len(rows) == 2:
        return {0: "'", 1: "-", 2: "_"}[rows[0]]
    return {0: "'", 1: "-", 2: "-", 3: "_"}[rows[0]]


_TABLE: dict[int, str] = {
    **{ord(letter): look for letters, look in _LOOKS.items() for letter in letters},
    **{_BRAILLE + bits: _look_of_dots(bits) for bits in range(256)},
}


def ascii_text(text: str) -> str:
    """`text` in ASCII, in as many cells as before."""
    if text.isascii():
        return text
    text = text.translate(_TABLE)
    if text.isascii():
        return text
    return "".join(letter if letter.isascii() else "?" * cell_len(letter) for letter in text)


def needs_ascii(encoding: str | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal is known not to show Unicode: another encoding, or locale C on purpose.

    No locale at all says nothing: most containers have none, and terminals that show everything.
    """
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "").replace("_", "") != "utf8":
        return True
    return environ.get("LC_ALL") in ("C", "POSIX")
