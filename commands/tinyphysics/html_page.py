"""Reports as one HTML file that needs nothing else, with charts in it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...shared.errors import UsageError
from ...shared.text.harmless import harmless

COLOURS = ("#0b6bcb", "#d1495b", "#5f6b7a", "#2a9d62", "#8e5bd0", "#c27c0e", "#1297a5", "#a03b7a")
WIDTH, HEIGHT, MARGIN = 720, 220, 44

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2em auto; padding: 0 1em;
       color: #1c2733; background: #fff }
h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin-top: 2em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2em 1em .2em 0; text-align: right }
th:first-child, td:first-child { text-align: left }
svg { width: 100%; height: auto } text { font: 12px system-ui, sans-serif; fill: #5f6b7a }
.note { color: #5f6b7a }
"""


def write_page(path: Path, title: str, body: Iterable[str]) -> None:
    """Write a page. Raises UsageError."""
    text = "\n".join(body)
    page = (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_escaped(title)}</title>"
        f"<style>{STYLE}</style>\n<body>\n{text}\n</body></html>\n"
    )
    try:
        path.write_text(page)
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror}") from None


def _escaped(text: str) -> str:
    return html.escape(harmless(text))


def note(text: str) -> str:
    return f'<p class="note">{_escaped(text)}</p>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells as text."""
    head = "".join(f"<th>{_escaped(column)}</th>" for column in columns)
    lines = (
        "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def ends(low: float, high: float, top: str) -> str:
    """The horizontal axis from `low` to `high`, and above the chart what the vertical one is."""
    y = HEIGHT - MARGIN
    return (
        f'<line x1="{MARGIN}" y1="{y}" x2="{WIDTH - MARGIN}" y2="{y}" stroke="#c5ced8"/>'
        f'<text x="{MARGIN}" y="{y + 16}">{low:.4g}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{y + 16}" text-anchor="end">{high:.4g}</text>'
        f'<text x="{MARGIN}" y="{MARGIN - 8}">{_escaped(top)}</text>'
    )


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Names with their colours."""
    return "".join(
        f'<text x="{WIDTH - MARGIN}" y="{16 + 15 * number}" text-anchor="end" '
        f'style="fill:{colour}">{_escaped(name)}</text>'
        for number, (name, colour) in enumerate(entries)
    )


def polyline(points: Iterable[tuple[float, float]], colour: str) -> str:
    coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{coordinates}" fill="none" stroke="{colour}" stroke-width="1.3"/>'


def svg(parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
