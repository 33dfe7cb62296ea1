"""Where the time of an iteration goes, from the metrics of group `time`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...shared import History, Metric
from ..charts.charted_metrics import is_phase
from ..charts.ticks import Floats
from ..render.formatting import format_percent, format_short_time
from ..render.lines import Line, fit, line_width
from ..render.palette import series_of_phase

NUM_ITERATIONS = 32  # the mean of some: evaluations and checkpoints come only now and then
_MAX_NAME_WIDTH, _PERCENT_WIDTH, _SECONDS_WIDTH = 14, 6, 8
_GAP = "  "
# Phases that trainers measure inside another one.
PART_OF = dict.fromkeys(("environment", "inference", "controller", "copy"), "collect")


@dataclass(frozen=True)
class Phase:
    """A part of an iteration: its mean duration, and its share of all phases."""

    name: str
    seconds: float
    fraction: float


class PhaseColumns(NamedTuple):
    """Shares of the time by phase and part of the run: `fractions` is [phases, parts]."""

    names: tuple[str, ...]
    fractions: Floats


def recent_phases(schema: Sequence[Metric], history: History) -> list[Phase]:
    """The phases in the order of the page, as the mean of the last `NUM_ITERATIONS` that wrote any;
    empty when the run has none.
    """
    names, seconds = phase_seconds(schema, history)
    seconds = seconds[:, -NUM_ITERATIONS:]
    if not seconds.size:
        return []
    means = seconds.mean(axis=1)
    total = means.sum() or 1.0
    return [
        Phase(name, float(mean), float(mean / total))
        for name, mean in zip(names, means, strict=True)
    ]


def phases_over_time(schema: Sequence[Metric], history: History, columns: int) -> PhaseColumns:
    """The share of each phase in `columns` parts of the run, of as many iterations each."""
    names, seconds = phase_seconds(schema, history)
    if not seconds.size:
        return PhaseColumns((), np.zeros((0, 0)))
    columns = min(columns, seconds.shape[1])
    starts = np.arange(columns) * seconds.shape[1] // columns
    sums = np.add.reduceat(seconds, starts, axis=1)
    return PhaseColumns(tuple(names), sums / np.maximum(sums.sum(axis=0), 1e-300))


def phase_seconds(
    schema: Sequence[Metric], history: History, first: int = 0
) -> tuple[list[str], Floats]:
    """The names of the phases and their seconds in each row from `first` on that has any,
    [phases, rows]. What a part of a phase took is no longer in that phase.
    """
    metrics = [metric.name for metric in schema if is_phase(metric)]
    names = [name.rpartition("/")[2].removesuffix("_s") for name in metrics]
    if not names or not len(history):
        return names, np.zeros((len(names), 0))
    seconds = np.stack([history.series(name).mean[first:] for name in metrics])
    seconds = seconds[:, np.isfinite(seconds).any(axis=0)]
    seconds = np.clip(np.nan_to_num(seconds, posinf=0.0), 0.0, 1e12)
    for name, whole in PART_OF.items():
        if name in names and whole in names:
            rest = seconds[names.index(whole)] - seconds[names.index(name)]
            seconds[names.index(whole)] = np.maximum(rest, 0.0)
    return names, seconds


def draw_phases(phases: Sequence[Phase], width: int, height: int) -> list[Line]:
    """A stacked bar, and under it every phase with its share and its duration. Where there is no
    room the durations go first, then the smallest phases.
    """
    bar, rows = draw_bar(phases, width), height - 1
    if rows < 1:
        return [bar]
    for num_columns in range(-(-len(phases) // rows), 0, -1):
        shown = _largest(phases, rows * num_columns)
        columns = [shown[start : start + rows] for start in range(0, len(shown), rows)]
        for with_seconds in (True, False):
            blocks = [_entries(column, with_seconds) for column in columns]
            if sum(line_width(block[0]) + len(_GAP) for block in blocks) <= width + len(_GAP):
                return [bar, *_side_by_side(blocks)]
    return [bar]


def draw_history(columns: PhaseColumns, width: int, height: int) -> list[Line]:
    """Stacked columns of blocks over the run, the first phase at the bottom; a cell has the colour
    of the phase that fills most of it.
    """
    num_parts = columns.fractions.shape[1]
    if not num_parts or height < 1:
        return []
    parts = np.arange(width) * num_parts // width
    tops = np.cumsum(columns.fractions, axis=0)[:, parts]
    lines: list[Line] = []
    for row in range(height):
        middle = (height - row - 0.5) / height
        place = np.minimum((tops < middle).sum(axis=0), len(columns.names) - 1).tolist()
        line: Line = []
        for phase in place:
            style = f"block{series_of_phase(columns.names[phase])}"
            if line and line[-1][1] == style:
                line[-1] = (line[-1][0] + " ", style)
            else:
                line.append((" ", style))
        lines.append(line)
    return lines


def draw_bar(phases: Sequence[Phase], width: int) -> Line:
    """The phases side by side over `width` cells, each as wide as its share."""
    line: Line = []
    ends = np.rint(np.cumsum([0.0, *(phase.fraction for phase in phases)]) * width).astype(int)
    for phase, start, end in zip(phases, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        name = f" {phase.name}" if len(phase.name) + 2 <= end - start else ""
        if end > start:
            line.append((fit(name, end - start), f"block{series_of_phase(phase.name)}"))
    return line


def _entries(phases: Sequence[Phase], with_seconds: bool) -> list[Line]:
    """The lines of one column."""
    name_width = min(_MAX_NAME_WIDTH, max(len(phase.name) for phase in phases))
    lines: list[Line] = []
    for phase in phases:
        line: Line = [
            ("■ ", f"series{series_of_phase(phase.name)}"),
            (fit(phase.name, name_width), "text"),
            (fit(format_percent(phase.fraction), _PERCENT_WIDTH, ">"), "strong"),
        ]
        if with_seconds:
            line.append((fit(format_short_time(phase.seconds), _SECONDS_WIDTH, ">"), "dim"))
        lines.append(line)
    return lines


def _side_by_side(blocks: list[list[Line]]) -> list[Line]:
    """Blocks of lines as columns; the first block is the longest."""
    lines: list[Line] = [[] for _ in blocks[0]]
    for place, block in enumerate(blocks):
        for y, line in enumerate(block):
            lines[y] += [(_GAP, "text"), *line] if place else line
    return lines


def _largest(phases: Sequence[Phase], count: int) -> list[Phase]:
    """The `count` largest, in the order they had."""
    kept = sorted(phases, key=lambda phase: -phase.seconds)[:count]
    return [phase for phase in phases if phase in kept]
