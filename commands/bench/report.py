"""What a comparison found, as plain lines and as a page with curves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...monitor.render.formatting import (
    format_count,
    format_duration,
    format_percent,
    format_rate,
    format_value,
)
from ..helpers.html_page import (
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
from ..helpers.output import print_line

COLUMNS = (
    "", "env steps/s", "lowest to highest", "ratio", "score, equal steps", "score, equal time",
    "evaluation", "training", "start-up", "memory",
)  # fmt: skip
LEGEND_LINE = 15  # of a chart's height, for each side


def print_comparison(answer: dict[str, Any]) -> None:
    """A line for each side, then the phases of each and what could not be run."""
    print_line(heading(answer))
    rows = [COLUMNS, *table_rows(answer)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        print_line("  " + "  ".join(cells).rstrip())
    for line in notes(answer):
        print_line(line)


def heading(answer: dict[str, Any]) -> str:
    return (
        f"{answer['bench']}, {answer['env']}: {format_count(answer['env_steps'])} env steps a run, "
        f"repeats: {answer['repeats']}, score: {answer['score']}"
    )


def table_rows(answer: dict[str, Any]) -> Iterator[list[str]]:
    """Medians; ratios are of the first side's speed."""
    results = answer["results"]
    first = results[0]["env_steps_per_s"]

    def median(result: dict[str, Any], name: str) -> float | None:
        found: dict[str, float] = result[name] or {}
        return found.get("median")

    for result in results:
        speed = result["env_steps_per_s"]
        scores = ("score_at_equal_env_steps", "score_at_equal_time", "evaluation")
        yield [
            result["name"],
            format_rate(median(result, "env_steps_per_s")),
            f"{format_rate(speed['min'])} to {format_rate(speed['max'])}" if speed else "-",
            f"{speed['median'] / first['median']:.2f}" if speed and first else "-",
            *(format_value(median(result, name)) for name in scores),
            format_duration(median(result, "train_s")),
            format_duration(median(result, "startup_s")),
            f"{(result['peak_bytes'] or 0) / 2**20:.0f} MiB",
        ]


def notes(answer: dict[str, Any]) -> Iterator[str]:
    """Phases, and what failed."""
    for result in answer["results"]:
        phases = [
            f"{phase} {format_percent(part)}"
            for phase, part in result["phase_fractions"].items()
            if part >= 0.005
        ]
        if phases:
            yield f"{result['name']}: {', '.join(phases)}"
        for failure in result["failures"]:
            yield f"{result['name']} gave nothing: {failure}"


def write_comparison(path: Path, answer: dict[str, Any]) -> None:
    """The page of a comparison. Raises UsageError."""
    write_page(path, f"operant bench {answer['bench']}: {answer['env']}", _body(answer))


def _body(answer: dict[str, Any]) -> Iterator[str]:
    yield f"<h1>operant bench {answer['bench']}</h1>"
    yield note(heading(answer))
    yield table(COLUMNS, table_rows(answer))
    for name, title in (("env_steps", "env steps"), ("train_s", "seconds of training")):
        yield f"<h2>Score by {title}</h2>"
        yield curves_chart(answer["results"], name)
    yield from map(note, notes(answer))
    machine = answer["machine"]
    yield note(", ".join(f"{name}: {value}" for name, value in machine.items() if value))


def curves_chart(results: list[dict[str, Any]], along: str) -> str:
    """Scores of all runs, a colour for each side."""
    curves = [(number, c) for number, result in enumerate(results) for c in result["curves"]]
    scores = [score for _, curve in curves for score in curve["score"]]
    if not scores:
        return note("no run has a score")
    low, high = min(scores), max(scores)
    most = max(place for _, curve in curves for place in curve[along])
    room = MARGIN + LEGEND_LINE * len(results)
    height = HEIGHT + LEGEND_LINE * len(results)
    x_scale = (WIDTH - 2 * MARGIN) / (most or 1)
    y_scale = (HEIGHT - 2 * MARGIN) / ((high - low) or 1)
    lines = [
        polyline(
            (
                (MARGIN + x_scale * x, height - MARGIN - y_scale * (score - low))
                for x, score in zip(curve[along], curve["score"], strict=True)
            ),
            COLOURS[number % len(COLOURS)],
        )
        for number, curve in curves
    ]
    axis = ends(0, most, f"{high:.4g} to {low:.4g}", height=height, top_y=room - 8)
    names = [(each["name"], COLOURS[n % len(COLOURS)]) for n, each in enumerate(results)]
    return svg([*lines, axis, legend(names)], height)
