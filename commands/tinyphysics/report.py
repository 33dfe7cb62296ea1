"""A page about an evaluation: one HTML file that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...shared.errors import UsageError
from ...shared.text.harmless import harmless

if TYPE_CHECKING:
    from ...trainer.envs.tinyphysics.routes import Routes
    from ...trainer.tinyphysics_training.controlling import Driven

Series = NDArray[np.float64]

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

NUM_BARS = 30
COSTS = {
    "Total cost": "total_costs",
    "Lataccel cost": "lataccel_costs",
    "Jerk cost": "jerk_costs",
}
STEP_S = 0.1
CONTROL_START_S, COST_END_S = 10.0, 50.0


def write_report(
    path: Path, routes: Routes, driven: dict[str, Driven], notes: Sequence[str]
) -> None:
    """Write costs of all controllers, their histograms and example traces. Raises UsageError."""
    title = f"TinyPhysics: {' against '.join(driven)}"
    body = "\n".join(_body(routes, driven, notes))
    page = (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_escaped(title)}</title><style>{STYLE}</style>\n"
        f"<body>\n<h1>{_escaped(title)}</h1>\n{body}\n</body></html>\n"
    )
    try:
        path.write_text(page)
    except OSError as error:
        raise UsageError(f"-o {path}: {error.strerror}") from None


def _body(routes: Routes, driven: dict[str, Driven], notes: Sequence[str]) -> Iterator[str]:
    yield _table(driven)
    yield from map(note, notes)
    for title, field in COSTS.items():
        yield f"<h2>{title} of each route</h2>"
        yield histogram({name: getattr(result, field) for name, result in driven.items()})
    yield "<h2>Example routes</h2>"
    first = next(iter(driven.values()))
    for number in range(len(first.examples)):
        yield f"<p>{_escaped(first.names[number])}: lateral acceleration, m/s², over seconds</p>"
        lines = {name: result.examples[number] for name, result in driven.items()}
        yield traces(routes.field("target")[: routes.num_rows[number], number], lines)


def _table(driven: dict[str, Driven]) -> str:
    """Mean costs, a row for each controller."""
    rows = ["".join(f"<th>{column}</th>" for column in ("Controller", *COSTS, "Routes"))]
    for name, result in driven.items():
        costs = [f"{getattr(result, field).mean():.3f}" for field in COSTS.values()]
        cells = (_escaped(name), *costs, str(len(result.names)))
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def histogram(costs: dict[str, Series]) -> str:
    """Numbers of routes by their cost, the controllers side by side; the last bar is open-ended."""
    everything = np.concatenate(list(costs.values()))
    everything = everything[np.isfinite(everything)]
    if not len(everything):
        return note("no cost is finite")
    low, high = float(everything.min()), float(np.quantile(everything, 0.98))
    edges = np.linspace(low, high if high > low else low + 1, NUM_BARS + 1)
    counts = {
        name: np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
        for name, values in costs.items()
    }
    most = max(int(count.max()) for count in counts.values())
    bar = (WIDTH - 2 * MARGIN) / NUM_BARS
    parts = []
    for number, count in enumerate(counts.values()):
        width = 0.9 * bar / len(counts)
        for place in np.flatnonzero(count):
            height = (HEIGHT - 2 * MARGIN) * count[place] / most
            x = MARGIN + place * bar + number * width
            parts.append(
                f'<rect x="{x:.1f}" y="{HEIGHT - MARGIN - height:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" fill="{COLOURS[number]}"/>'
            )
    parts.append(ends(edges[0], edges[-1], f"{most} routes"))
    return svg([*parts, legend(zip(costs, COLOURS, strict=False))])


def traces(target: Series, lines: dict[str, Series]) -> str:
    """Lateral accelerations over time, with the cost window shaded."""
    everything = np.concatenate([target, *lines.values()])
    low, high = float(everything.min()), float(everything.max())
    high = high if high > low else low + 1
    end_s = len(target) * STEP_S

    def place(second: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * second / end_s

    def curve(values: Series, colour: str) -> str:
        span = (HEIGHT - 2 * MARGIN) / (high - low)
        points = " ".join(
            f"{place(row * STEP_S):.1f},{HEIGHT - MARGIN - span * (value - low):.1f}"
            for row, value in enumerate(values)
        )
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.3"/>'

    stop_s = min(COST_END_S, end_s)
    window = (
        f'<rect x="{place(CONTROL_START_S):.1f}" y="{MARGIN}" fill="#f1f4f8" '
        f'width="{place(stop_s) - place(CONTROL_START_S):.1f}" height="{HEIGHT - 2 * MARGIN}"/>'
    )
    curves = [curve(target, COLOURS[2])]
    curves += [curve(v, c) for v, c in zip(lines.values(), COLOURS, strict=False)]
    top = f"{high:.2f} to {low:.2f} m/s²; shaded: the cost window"
    names = [*zip(lines, COLOURS, strict=False), ("target", COLOURS[2])]
    return svg([window, *curves, ends(0, end_s, top), legend(names)])


def _escaped(text: str) -> str:
    return html.escape(harmless(text))


def note(text: str) -> str:
    return f'<p class="note">{_escaped(text)}</p>'


def ends(low: float, high: float, top: str) -> str:
    """The horizontal axis from `low` to `high`, and above the chart `top`, the vertical one."""
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


def svg(parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
