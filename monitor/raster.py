"""A screen's cells as a PNG file, drawn by Pillow with a monospaced font of this machine."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from ..shared.errors import UsageError
from .play.rastering import import_pillow

FONT_SIZE = 18
# Regular and bold of fonts that have arrows and box drawing; Pillow searches the system's folders.
FONTS = (
    ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"),
    ("NotoSansMono-Regular.ttf", "NotoSansMono-Bold.ttf"),
    ("LiberationMono-Regular.ttf", "LiberationMono-Bold.ttf"),
    ("UbuntuMono-R.ttf", "UbuntuMono-B.ttf"),
    ("FreeMono.ttf", "FreeMonoBold.ttf"),
    ("Menlo.ttc", "Menlo.ttc"),
)
_BRAILLE, _BLOCKS = range(0x2800, 0x2900), range(0x2581, 0x2590)
# Column and row of the dot of each bit of a braille pattern.
_DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]


class PngScreen:
    """Draws rows of segments, all as wide as the screen.

    Braille and block characters are drawn as shapes: few fonts have them, and shapes have no gaps
    between cells. Raises UsageError where Pillow or every known font is missing.
    """

    def __init__(self) -> None:
        self._image, self._draw, image_font = import_pillow()
        self._regular, self._bold = _fonts(image_font)
        self.width = round(self._regular.getlength("M"))
        self.height = sum(self._regular.getmetrics())

    def png(self, rows: Sequence[Sequence[Segment]]) -> bytes:
        columns = max(sum(cell_len(text) for text, *_ in row) for row in rows)
        theme = SVG_EXPORT_THEME
        size = columns * self.width, len(rows) * self.height
        picture = self._image.new("RGB", size, theme.background_color)
        draw = self._draw.Draw(picture)
        for y, row in enumerate(rows):
            column = 0
            for text, style, _ in row:
                if not text:
                    continue
                style = style or Style()
                ink, paper = _colours(style)
                left, top = column * self.width, y * self.height
                right = left + cell_len(text) * self.width
                draw.rectangle((left, top, right - 1, top + self.height - 1), fill=paper)
                if style.underline:
                    draw.line((left, top + self.height - 2, right, top + self.height - 2), ink)
                for letter in text:
                    place = column * self.width, top
                    self._draw_letter(draw, letter, place, ink, self._font(style))
                    column += cell_len(letter)
        file = io.BytesIO()
        picture.save(file, "PNG", optimize=True)
        return file.getvalue()

    def _font(self, style: Style) -> Any:
        return self._bold if style.bold else self._regular

    def _draw_letter(
        self, draw: Any, letter: str, place: tuple[int, int], ink: Colour, font: Any
    ) -> None:
        code, (left, top) = ord(letter), place
        if code in _BRAILLE:
            radius = self.width / 6
            for bit, (column, row) in enumerate(_DOTS):
                if code - _BRAILLE.start >> bit & 1:
                    x = left + (column + 0.5) * self.width / 2
                    y = top + (row + 0.5) * self.height / 4
                    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)
        elif code in _BLOCKS or letter == "▀":
            x0, y0, x1, y1 = _block(letter)
            box = (left + x0 * self.width, top + y0 * self.height,
                   left + x1 * self.width - 1, top + y1 * self.height - 1)  # fmt: skip
            draw.rectangle(tuple(round(side) for side in box), fill=ink)
        elif letter.strip():
            draw.text(place, letter, fill=ink, font=font)


def _block(letter: str) -> Box:
    """The part of a cell that a block element fills, from its left upper corner, each 0 to 1."""
    eighths = ord(letter) - 0x2580
    if letter == "▀":
        return 0, 0, 1, 0.5
    if eighths <= 8:  # ▁ to █, from below
        return 0, 1 - eighths / 8, 1, 1
    return 0, 0, (16 - eighths) / 8, 1  # ▉ to ▏, from the left


def _colours(style: Style) -> tuple[Colour, Colour]:
    """The colours of text and background; defaults are those of Textual's own SVG."""
    theme = SVG_EXPORT_THEME

    def rgb(color: Color | None, is_text: bool) -> Colour:
        return tuple((color or Color.default()).get_truecolor(theme, foreground=is_text))  # type: ignore[return-value]

    ink, paper = rgb(style.color, True), rgb(style.bgcolor, False)
    if style.reverse:
        ink, paper = paper, ink
    if style.dim:
        ink = tuple((i + p) // 2 for i, p in zip(ink, paper, strict=True))  # type: ignore[assignment]
    return ink, paper


def _fonts(image_font: Any) -> tuple[Any, Any]:
    for names in FONTS:
        try:
            regular, bold = (image_font.truetype(name, FONT_SIZE) for name in names)
        except OSError:
            continue
        return regular, bold
    known = ", ".join(name.split(".")[0].split("-")[0] for name, _ in FONTS)
    raise UsageError(f"--to FILE.png needs one of the fonts {known}; .svg works without it")
