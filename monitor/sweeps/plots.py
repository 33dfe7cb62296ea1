"""The finished trials of a sweep as pictures: their scores in order, each key against the score,
and all keys together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeGuard

import numpy as np

from ...shared.runs.sweep_table import SweepTable, SweepTrial
from ..render.canvas import DOTS_HIGH, DOTS_WIDE, Canvas
from ..render.formatting import format_value
from ..render.lines import Line, boxed, fit, fit_line, fit_middle

_MIN_BOX_WIDTH, _MIN_BOX_HEIGHT = 24, 6
_LABEL_WIDTH = 9
_GOOD = 0.75  # of the trials, by score: those above it are drawn as good
_AXIS = "│"
_MOST = 500  # trials in a picture: the best, and in the history the newest


class Scale:
    """The places of values on an axis, from 0 to 1: numbers by size, or by their logarithm, all
    others in the order of their names.
    """

    def __init__(self, values: Sequence[object], is_log: bool = False) -> None:
        numbers = [value for value in values if _is_number(value)]
        self._names = [] if len(numbers) == len(values) else sorted({*map(str, values)})
        self._is_log = is_log and min(numbers, default=0) > 0
        self.low, self.high = min(numbers, default=0), max(numbers, default=0)

    def share(self, value: object) -> float:
        if self._names:
            return self._names.index(str(value)) / max(1, len(self._names) - 1)
        low, high, at = float(self.low), float(self.high), float(str(value))
        if self._is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        largest = max(abs(low), abs(high)) or 1.0  # their difference may be too large a number
        low, high, at = low / largest, high / largest, at / largest
        return (at - low) / (high - low) if high > low else 0.5

    def ends(self) -> tuple[str, str]:
        """The labels at 0 and at 1."""
        if self._names:
            return self._names[0], self._names[-1]
        low, high = (str(end) if isinstance(end, int) else format_value(end)
                     for end in (self.low, self.high))  # fmt: skip
        return low, high


def has_pictures(table: SweepTable) -> bool:
    return bool(_scored(table))


def draw_history(table: SweepTable, selected: object, width: int, height: int) -> list[Line]:
    """The score of each trial in the order they began, and the best so far."""
    trials = sorted(_scored(table), key=lambda trial: trial.number)[-_MOST:]
    scores = [_score(trial) for trial in trials]
    is_up = table.objectives[0].is_maximized
    best = (np.maximum if is_up else np.minimum).accumulate(scores).tolist()
    numbers, scale = Scale([trial.number for trial in trials]), Scale(scores)
    plot = _Plot(width - 4 - _LABEL_WIDTH, height - 3)
    columns = [numbers.share(trial.number) for trial in trials]
    steps = zip(columns, [scale.share(score) for score in best], strict=True)
    for (left, before), (right, after) in pairwise(steps):
        plot.line((left, before), (right, before), "dim")
        plot.line((right, before), (right, after), "dim")
    order = sorted(range(len(trials)), key=scores.__getitem__, reverse=not is_up)
    _points(plot, [trials[i] for i in order], [columns[i] for i in order], scale, selected)
    title = f"{table.objectives[0].metric} by trial; the line is the best so far"
    return _framed(title, plot, scale.ends(), numbers.ends(), width, height)


def draw_slices(table: SweepTable, selected: object, width: int, height: int) -> list[Line]:
    """The score against each key, those that matter most first, as many as have room."""
    keys = table.by_importance()
    num_columns = max(1, min(len(keys), width // _MIN_BOX_WIDTH))
    num_rows = max(1, min(math.ceil(len(keys) / num_columns), height // _MIN_BOX_HEIGHT))
    lines: list[Line] = []
    for row in range(num_rows):
        shown = keys[row * num_columns :][:num_columns]
        box_height = height // num_rows + (row < height % num_rows)
        boxes = [_slice(table, key, selected, width // num_columns, box_height) for key in shown]
        lines += [[piece for line in parts for piece in line] for parts in zip(*boxes, strict=True)]
    return lines


def draw_parallel(table: SweepTable, selected: object, width: int, height: int) -> list[Line]:
    """A line for each trial through its values and its score: the best quarter stands out."""
    trials = _best_last(table)
    keys = table.by_importance()[: max(1, width // _MIN_BOX_WIDTH * 2 - 1)]
    scales = [Scale([trial.values.get(key) for trial in trials], _is_log(table, key))
              for key in keys]  # fmt: skip
    score = Scale([_score(trial) for trial in trials])
    styles = _styles(trials, selected)
    plot = _Plot(width, height - 3)
    places = np.linspace(0.0, 1.0, len(keys) + 1)
    for trial in sorted(trials, key=lambda trial: trial.number == selected):
        heights = [scale.share(trial.values.get(key))
                   for scale, key in zip(scales, keys, strict=True)]  # fmt: skip
        heights.append(score.share(_score(trial)))
        corners = list(zip(places.tolist(), heights, strict=True))
        for start, end in pairwise(corners):
            plot.line(start, end, styles[trial.number])
    for place in places:
        plot.canvas.draw_upright(plot.column(place), _AXIS, "faint")
    names = [*keys, table.objectives[0].metric]
    ends = [*(scale.ends() for scale in scales), score.ends()]
    return [
        _along(names, width, "strong"),
        _along([high for _, high in ends], width, "dim"),
        *plot.canvas.lines(),
        _along([low for low, _ in ends], width, "dim"),
    ]


class _Plot:
    """Lines and points on a canvas, at shares from 0 to 1 from the left and from below."""

    def __init__(self, columns: int, rows: int) -> None:
        self.canvas = Canvas(max(1, columns), max(1, rows))

    def column(self, share: float) -> int:
        return round(share * (self.canvas.columns - 1))

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        width, height = self.canvas.dot_columns - 1, self.canvas.dot_rows - 1
        steps = 1 + int(max(abs(end[0] - start[0]) * width, abs(end[1] - start[1]) * height))
        columns = np.rint(np.linspace(start[0], end[0], steps) * width).astype(np.intp)
        rows = np.rint((1 - np.linspace(start[1], end[1], steps)) * height).astype(np.intp)
        self.canvas.draw_dots(columns, rows, [style], np.zeros(steps, np.intp))

    def letter(self, across: float, up: float, letter: str, style: str) -> None:
        row = round((1 - up) * (self.canvas.dot_rows - 1)) // DOTS_HIGH
        column = round(across * (self.canvas.dot_columns - 1)) // DOTS_WIDE
        self.canvas.draw_letter(column, row, letter, style)


def _slice(table: SweepTable, key: str, selected: object, width: int, height: int) -> list[Line]:
    trials = _best_last(table)
    values = Scale([trial.values.get(key) for trial in trials], _is_log(table, key))
    scale = Scale([_score(trial) for trial in trials])
    plot = _Plot(width - 4 - _LABEL_WIDTH, height - 3)
    columns = [values.share(trial.values.get(key)) for trial in trials]
    _points(plot, trials, columns, scale, selected)
    return _framed(key, plot, scale.ends(), values.ends(), width, height)


def _points(
    plot: _Plot, best_last: Sequence[SweepTrial], columns: Sequence[float], scale: Scale,
    selected: object,
) -> None:  # fmt: skip
    """A mark for each trial; that of the selected one covers the others."""
    styles = _styles(best_last, selected)
    marked = sorted(
        zip(best_last, columns, strict=True), key=lambda pair: pair[0].number == selected
    )
    for trial, column in marked:
        letter = "★" if trial.is_best else "●" if trial.number == selected else "·"
        plot.letter(column, scale.share(_score(trial)), letter, styles[trial.number])


def _framed(
    title: str, plot: _Plot, y_ends: tuple[str, str], x_ends: tuple[str, str], width: int,
    height: int,
) -> list[Line]:  # fmt: skip
    """A plot in a box with the ends of its axes."""
    rows = plot.canvas.lines()
    labels = [y_ends[1], *[""] * (len(rows) - 2), *([y_ends[0]] if len(rows) > 1 else [])]
    body: list[Line] = [
        [(fit(label, _LABEL_WIDTH - 1, ">") + " ", "dim"), *row]
        for label, row in zip(labels, rows, strict=True)
    ]
    low, high = x_ends
    room = max(0, plot.canvas.columns - len(low))
    axis = " " * _LABEL_WIDTH + fit(low, plot.canvas.columns - room) + fit(high, room, ">")
    room = max(0, width - 4)
    body = [fit_line(line, room, "dim") for line in [*body, [(axis, "dim")]]]
    return boxed([(fit_middle(title, max(0, width - 6)), "text")], body, width, height, "border")


def _along(texts: Sequence[str], width: int, style: str) -> Line:
    """Texts under evenly spaced axes, the first and the last at the edges."""
    room = width // max(1, len(texts))
    shown = [fit_middle(text, room - 1) for text in texts]
    row = [" "] * width
    for place, text in enumerate(shown):
        at = round(place * (width - 1) / max(1, len(texts) - 1) - len(text) / 2)
        at = max(0, min(at, width - len(text)))
        row[at : at + len(text)] = text
    return [("".join(row), style)]


def _scored(table: SweepTable) -> list[SweepTrial]:
    """The trials that finished: a pruned trial's score says less."""
    finished = (trial for trial in table.trials if trial.state == "finished")
    return [trial for trial in finished if math.isfinite(_score(trial))]


def _score(trial: SweepTrial) -> float:
    return trial.scores[0] if trial.scores else math.nan


def _best_last(table: SweepTable) -> list[SweepTrial]:
    """The finished trials; what is drawn last covers the others."""
    is_up = table.objectives[0].is_maximized
    return sorted(_scored(table), key=_score, reverse=not is_up)[-_MOST:]


def _styles(best_last: Sequence[SweepTrial], selected: object) -> dict[object, str]:
    """The style of each trial, by its number."""
    first_good = _GOOD * len(best_last)
    styles = {
        trial.number: "focus" if place >= first_good else "faint"
        for place, trial in enumerate(best_last)
    }
    return styles | ({} if selected is None else {selected: "warning"})


def _is_log(table: SweepTable, key: str) -> bool:
    return table.parameters[key].endswith("log")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
