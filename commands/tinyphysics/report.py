"""A page about an evaluation: one HTML file that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .costs import costs_line
from .html_page import (
    COLOURS,
    HEIGHT,
    MARGIN,
    WIDTH,
    ends,
    legend,
    note,
    polyline,
    svg,
    table,
    write_page,
)

if TYPE_CHECKING:
    from ...trainer.envs.tinyphysics.routes import Routes
    from ...trainer.tinyphysics_training.controlling import Driven

Series = NDArray[np.float64]

NUM_BARS = 30
STEP_S = 0.1
CONTROL_START_S, COST_END_S = 10.0, 50.0


def write_report(path: Path, routes: Routes, driven: dict[str, Driven], engine: str) -> None:
    """Costs, their histograms, and example traces of all controllers. Raises UsageError."""
    title = f"TinyPhysics: {next(iter(driven))}"
    write_page(path, title, _body(routes, driven, engine))


def _body(routes: Routes, driven: dict[str, Driven], engine: str) -> Iterator[str]:
    yield f"<h1>TinyPhysics: {html.escape(' against '.join(driven))}</h1>"
    yield _table(driven)
    yield "".join(note(costs_line(*item)) for item in driven.items())
    yield note(engine)
    for title, field in (
        ("Total cost", "total_costs"),
        ("Lataccel cost", "lataccel_costs"),
        ("Jerk cost", "jerk_costs"),
    ):
        yield f"<h2>{title} of each route</h2>"
        yield histogram({name: getattr(result, field) for name, result in driven.items()})
    yield "<h2>Example routes</h2>"
    first = next(iter(driven.values()))
    for number in range(len(first.examples)):
        yield f"<p>{html.escape(first.names[number])}: lateral acceleration, m/s², over seconds</p>"
        lines = {name: result.examples[number] for name, result in driven.items()}
        yield traces(routes.field("target")[: routes.num_rows[number], number], lines)


def _table(driven: dict[str, Driven]) -> str:
    def costs(result: Driven) -> list[str]:
        fields = (result.lataccel_costs, result.jerk_costs, result.total_costs)
        return [f"{each.mean():.3f}" for each in fields]

    columns = ("controller", "lataccel cost", "jerk cost", "total cost", "routes")
    return table(
        columns,
        [(name, *costs(result), str(len(result.names))) for name, result in driven.items()],
    )


def histogram(costs: dict[str, Series]) -> str:
    """How many routes cost how much, the controllers side by side; the last bar is the rest."""
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
    """Lateral accelerations over time, with the window that counts marked."""
    everything = np.concatenate([target, *lines.values()])
    low, high = float(everything.min()), float(everything.max())
    high = high if high > low else low + 1
    end_s = len(target) * STEP_S

    def place(second: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * second / end_s

    def curve(values: Series, colour: str) -> str:
        span = (HEIGHT - 2 * MARGIN) / (high - low)
        return polyline(
            (
                (place(row * STEP_S), HEIGHT - MARGIN - span * (value - low))
                for row, value in enumerate(values)
            ),
            colour,
        )

    stop_s = min(COST_END_S, end_s)
    window = (
        f'<rect x="{place(CONTROL_START_S):.1f}" y="{MARGIN}" fill="#f1f4f8" '
        f'width="{place(stop_s) - place(CONTROL_START_S):.1f}" height="{HEIGHT - 2 * MARGIN}"/>'
    )
    curves = [curve(target, COLOURS[2])]
    curves += [curve(v, c) for v, c in zip(lines.values(), COLOURS, strict=False)]
    top = f"{high:.2f} to {low:.2f} m/s²; shaded: what counts"
    names = [*zip(lines, COLOURS, strict=False), ("target", COLOURS[2])]
    return svg([window, *curves, ends(0, end_s, top), legend(names)])
