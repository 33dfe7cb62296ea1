"""A canvas of braille: two by four dots in each cell, drawn from whole arrays at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len

from ...shared.text.harmless import harmless
from .lines import Line

Integers = np.ndarray[Any, np.dtype[np.intp]]
Codes = np.ndarray[Any, np.dtype[np.uint32]]

DOTS_WIDE, DOTS_HIGH = 2, 4  # in a cell
_BLANK = ord(" ")
_BRAILLE = 0x2800
RULE = "┈"
# From the weakest. Without colours the letters tell them apart; elsewhere each fills its cell.
_SHADES = "░░▒▒▓▓██"
HEAT_LEVELS = len(_SHADES)
# The bit of each dot in a braille character, by its column and its row from above.
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BIT_OF = np.array(_BITS, np.uint32).T  # by row and column
# The bits of all dots from row `first` up to `end` of a cell's left and right column.
_RUNS = np.array(
    [[[sum(bits[first:end]) for end in range(5)] for first in range(5)] for bits in _BITS],
    np.uint32,
)


class Spans(NamedTuple):
    """Dots from `top` to `bottom` in every dot column, both [dot_columns], in dot rows from above;
    none where `top` is greater than `bottom`.
    """

    top: Integers
    bottom: Integers


class Canvas:
    """Cells of characters, each of one style; what is drawn later covers what was there."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._codes: Codes = np.full((rows, columns), _BLANK, np.uint32)
        self._styles: Integers = np.zeros((rows, columns), np.intp)
        self._style_names = [""]
        self._has_heat = False

    @property
    def dot_columns(self) -> int:
        return self.columns * DOTS_WIDE

    @property
    def dot_rows(self) -> int:
        return self.rows * DOTS_HIGH

    def draw_rule(self, row: int, style: str) -> None:
        """A dotted horizontal line."""
        self._codes[row] = ord(RULE)
        self._styles[row] = self._style(style)

    def draw_letter(self, column: int, row: int, letter: str, style: str) -> None:
        self._codes[row, column] = ord(letter)
        self._styles[row, column] = self._style(style)

    def draw_text(self, column: int, row: int, text: str, style: str) -> None:
        """Letters of one cell each, as far as they fit; others become question marks."""
        shown = "".join(letter if cell_len(letter) == 1 else "?" for letter in harmless(text))
        codes = [ord(letter) for letter in shown[: max(0, self.columns - column)]]
        self._codes[row, column : column + len(codes)] = codes
        self._styles[row, column : column + len(codes)] = self._style(style)

    def draw_upright(self, column: int, letter: str, style: str) -> None:
        """A vertical line of one character, behind all but rules."""
        codes = self._codes[:, column]
        free = (codes == _BLANK) | (codes == ord(RULE))
        self._codes[free, column] = ord(letter)
        self._styles[free, column] = self._style(style)

    def shade(self, first: int, end: int, letter: str, style: str) -> None:
        """Columns from `first` up to `end` of one character, behind all but rules."""
        columns = slice(max(0, first), max(0, end))
        codes, styles = self._codes[:, columns], self._styles[:, columns]
        free = (codes == _BLANK) | (codes == ord(RULE))
        codes[free], styles[free] = ord(letter), self._style(style)

    def draw_heat(self, column: int, levels: Integers, style: str) -> None:
        """Fill cells from `column` on with shades of a series' `style`, by `levels` [rows, C]: 1 to
        `HEAT_LEVELS`, and 0 keeps what was there.
        """
        self._has_heat = True
        cells = slice(column, column + levels.shape[1])
        for level, letter in enumerate(_SHADES, 1):
            self._codes[:, cells][levels == level] = ord(letter)
            self._styles[:, cells][levels == level] = self._style(f"{style}_heat{level}")

    def is_free(self, column: int, row: int, width: int) -> bool:
        """Whether nothing but rules is drawn in so many cells."""
        codes = self._codes[row, column : column + width]
        return bool(((codes == _BLANK) | (codes == ord(RULE))).all())

    def emptiest_corner(self, columns: int, rows: int) -> tuple[int, int]:
        """The first column and row of the corner of that size where least is drawn."""
        right, below = max(0, self.columns - columns), max(0, self.rows - rows)
        drawn = (self._codes != _BLANK) & (self._codes != ord(RULE))
        corners = [(0, 0), (right, 0), (0, below), (right, below)]
        return min(corners, key=lambda at: drawn[at[1] :, at[0] :][:rows, :columns].sum())

    def draw_spans(self, spans: Spans, style: str) -> None:
        """Columns of dots; cells that get none keep what they had."""
        above = np.arange(0, self.dot_rows, DOTS_HIGH)[:, None]  # dot rows above each row of cells
        first = np.clip(spans.top - above, 0, DOTS_HIGH)
        end = np.clip(spans.bottom + 1 - above, 0, DOTS_HIGH)
        left, right = (_RUNS[side, first[:, side::2], end[:, side::2]] for side in (0, 1))
        bits = left | right
        drawn = bits > 0
        self._codes[drawn] = _BRAILLE + bits[drawn]
        self._styles[drawn] = self._style(style)

    def draw_dots(
        self, columns: Integers, rows: Integers, styles: Sequence[str], style_of: Integers
    ) -> None:
        """Single dots at these dot columns and rows from above, [D] each, beside the dots that are
        there; those outside are left out. `style_of` [D] is the place of each dot's style in
        `styles`; a cell gets that of its last dot.
        """
        inside = (
            (columns >= 0) & (columns < self.dot_columns) & (rows >= 0) & (rows < self.dot_rows)
        )
        columns, rows, style_of = columns[inside], rows[inside], style_of[inside]
        cells = rows // DOTS_HIGH * self.columns + columns // DOTS_WIDE
        codes = self._codes.reshape(-1)
        before = codes[cells]
        codes[cells[(before < _BRAILLE) | (before >= _BRAILLE + 256)]] = _BRAILLE
        np.bitwise_or.at(codes, cells, _BIT_OF[rows % DOTS_HIGH, columns % DOTS_WIDE])
        numbers = np.array([self._style(style) for style in styles], np.intp)
        self._styles.reshape(-1)[cells] = numbers[style_of]

    def lines(self) -> list[Line]:
        """The canvas as text, in as few pieces as its styles allow."""
        blank = self._codes == _BLANK
        if self._has_heat:
            styles = np.where(blank, 0, self._styles)
        else:
            # A blank cell looks the same in any style: let it continue the one before it.
            columns = np.where(blank, 0, np.arange(self.columns))
            np.maximum.accumulate(columns, axis=1, out=columns)
            styles = np.take_along_axis(self._styles, columns, axis=1)
        text = self._codes.astype("<u4").tobytes().decode("utf-32-le")
        changes = np.ones((self.rows, self.columns), bool)
        changes[:, 1:] = styles[:, 1:] != styles[:, :-1]
        starts = np.flatnonzero(changes)
        names = [self._style_names[style] for style in styles.ravel()[starts].tolist()]
        lines: list[Line] = [[] for _ in range(self.rows)]
        begins = starts.tolist()
        for begin, end, name in zip(begins, [*begins[1:], len(text)], names, strict=True):
            lines[begin // self.columns].append((text[begin:end], name))
        return lines

    def _style(self, name: str) -> int:
        if name not in self._style_names:
            self._style_names.append(name)
        return self._style_names.index(name)


def no_spans(dot_columns: int) -> Spans:
    """Not a dot in any column."""
    return Spans(np.ones(dot_columns, np.intp), np.zeros(dot_columns, np.intp))


def dashed(spans: Spans, dash: tuple[int, int]) -> Spans:
    """`spans` with the second number of every so many columns left out; (1, 0) leaves them all."""
    on, off = dash
    if not off:
        return spans
    blank = np.arange(len(spans.top)) % (on + off) >= on
    return Spans(np.where(blank, 1, spans.top), np.where(blank, 0, spans.bottom))
