"""Lines of text on their way to the screen: pieces with a style's name, cut to fit, made harmless.

A piece is a text and the name of its style in `palette.py`; a line is a list of pieces.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from ...shared.text.harmless import harmless

Piece = tuple[str, str]
Line = list[Piece]


def fit(text: str, width: int, align: str = "<") -> str:
    """`text` in exactly `width` cells: filled up at the right (<) or left (>), or its end cut."""
    text = harmless(text)
    room = width - cell_len(text)
    if room < 0:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    return " " * room + text if align == ">" else text + " " * room


def fit_middle(text: str, width: int, others: Sequence[str] = ()) -> str:
    """`text` in at most `width` cells, cut in the middle: the ends tell most names apart. It is cut
    elsewhere where one of the `others` would look the same, if that helps.
    """
    text = harmless(text)
    if cell_len(text) <= width:
        return text
    usual = min(max(width * 2 // 3, 0), max(width - 1, 0))
    cuts = [_cut(text, width, usual)]
    if others:
        tails = sorted(range(width), key=lambda tail: abs(tail - usual))
        cuts = [_cut(text, width, tail) for tail in tails] or cuts
    alike = [other for other in others if other != text]
    head, end = next(
        ((head, end) for head, end in cuts
         if not any(other.startswith(head) and other.endswith(end) for other in alike)),
        cuts[0],
    )  # fmt: skip
    return f"{head}…{end}" if width > 0 else ""


def fit_end(text: str, width: int) -> str:
    """`text` in at most `width` cells, cut at its beginning: where paths and names differ last."""
    text = harmless(text)
    if cell_len(text) <= width:
        return text
    return f"…{_last_cells(text, width - 1)}" if width > 0 else ""


def line_width(line: Line) -> int:
    """Cells that `line` takes."""
    return sum(cell_len(text) for text, _ in line)


def fit_line(line: Line, width: int, style: str) -> Line:
    """`line` in exactly `width` cells, filled up in `style` or its end cut."""
    fitted: Line = []
    for text, name in line:
        text = harmless(text)
        if cell_len(text) > width:
            text = set_cell_size(text, width)
        fitted.append((text, name))
        width -= cell_len(text)
    return [*fitted, (" " * width, style)]


def spread(left: Line, right: Line, width: int, style: str = "text") -> Line:
    """`left` and `right` at the two ends of `width` cells; `right` goes where there is no room."""
    room = width - line_width(left) - line_width(right)
    if room < 0:
        return [*left, (" " * max(0, width - line_width(left)), style)]
    return [*left, (" " * room, style), *right]


def boxed(title: Line, body: list[Line], width: int, height: int, border: str) -> list[Line]:
    """`body`, as much of it as fits, in a rounded frame of `width` by `height`, with `title` in its
    upper edge.
    """
    if width < 4 or height < 2:
        return [[] for _ in range(height)]
    inner = width - 4
    title = [("╭─ ", border), *_at_most(title, width - 6), (" ", border)]
    rule = "─" * max(0, width - 1 - line_width(title))
    lines: list[Line] = [[*title, (rule + "╮", border)]]
    for y in range(height - 2):
        content = _at_most(body[y], inner) if y < len(body) else []
        fill = " " * max(0, inner - line_width(content))
        lines.append([("│ ", border), *content, (fill + " │", border)])
    lines.append([("╰" + "─" * (width - 2) + "╯", border)])
    return lines


def _at_most(line: Line, width: int) -> Line:
    return line if line_width(line) <= width else fit_line(line, max(0, width), "text")


def _cut(text: str, width: int, tail: int) -> tuple[str, str]:
    """The beginning of `text`, and its end of `tail` cells; one of `width` cells is left free."""
    return set_cell_size(text, max(0, width - 1 - tail)), _last_cells(text, tail)


def _last_cells(text: str, width: int) -> str:
    """The end of `text`, at most `width` cells."""
    start = len(text)
    while start and cell_len(text[start - 1 :]) <= width:
        start -= 1
    return text[start:]
