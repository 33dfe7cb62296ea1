"""The list of runs as lines: columns that give way to the name when the screen is narrow."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .conditions import condition_of
from .formatting import (
    UNKNOWN,
    format_age,
    format_count,
    format_percent,
    format_si,
    format_written,
)
from .lines import Line, fit, fit_line, fit_middle
from .run_summary import RETURN, draw_bar
from .runs_poller import RunRow

_STATE_WIDTH, _AGE_WIDTH, _NUMBER_WIDTH, _PERCENT_WIDTH = 10, 7, 8, 6
_MIN_BAR_WIDTH, _MAX_BAR_WIDTH = 8, 24
_STAMP = re.compile(r"^\d{8}-\d{6}-(?=.)")
_SHORT_NAME_WIDTH, _FULL_NAME_WIDTH, _MAX_NAME_WIDTH = 20, 34, 64  # full: with the date in the id


@dataclass(frozen=True)
class Columns:
    """Widths in cells; 0 for a column that is left out."""

    name: int
    speed: int
    env_steps: int
    bar: int


def columns_of(width: int) -> Columns:
    """The columns for a screen of `width` cells."""
    state, age, percent = 3 + _STATE_WIDTH + 1, 1 + _AGE_WIDTH, 1 + _PERCENT_WIDTH + 1
    number = 1 + _NUMBER_WIDTH
    room = width - state - age - number - percent
    speed = number if room >= _SHORT_NAME_WIDTH + number else 0
    room -= speed
    env_steps = number if room >= _FULL_NAME_WIDTH + 2 * number else 0
    room -= env_steps
    bar = min(_MAX_BAR_WIDTH, (room - _FULL_NAME_WIDTH) // 2)
    bar = bar if bar >= _MIN_BAR_WIDTH else 0
    return Columns(max(4, min(room - bar, _MAX_NAME_WIDTH)), speed, env_steps, bar)


def draw_head(width: int) -> Line:
    """The names of the columns."""
    columns = columns_of(width)
    cells = [
        fit("   state", 3 + _STATE_WIDTH),
        fit("run", columns.name),
        fit("age", _AGE_WIDTH, ">"),
    ]
    if columns.speed:
        cells.append(fit("steps/s", _NUMBER_WIDTH, ">"))
    cells.append(fit("return", _NUMBER_WIDTH, ">"))
    if columns.env_steps:
        cells.append(fit("steps", _NUMBER_WIDTH, ">"))
    cells.append(fit("done", _PERCENT_WIDTH, ">"))
    return [(fit(" ".join(cells), width), "dim")]


def draw_row(row: RunRow, width: int, is_selected: bool) -> Line:
    """One run: what it is, how it is doing, how far it is."""
    prefix = "cursor_" if is_selected else ""
    columns = columns_of(width)
    name = row.run.id
    if columns.name < _FULL_NAME_WIDTH:
        name = _STAMP.sub("", name)
    name = fit(fit_middle(name, columns.name), columns.name)
    mark = "▌" if is_selected else " "
    if row.status is None:
        line: Line = [(f"{mark}  {'…':{_STATE_WIDTH}} ", f"{prefix}dim"), (name, f"{prefix}text")]
        return fit_line(line, width, f"{prefix}text")
    condition = condition_of(row.status, row.is_page_expected)
    line = [
        (mark, f"{prefix}focus"),
        (f"{condition.symbol} {fit(condition.word, _STATE_WIDTH)} ", f"{prefix}{condition.style}"),
        (f"{name} ", f"{prefix}{'strong' if is_selected else 'text'}"),
    ]
    if row.status.age_s is None:
        line.append((condition.notice, f"{prefix}dim"))
    else:
        line += _numbers(row, columns, prefix)
    return fit_line(line, width, f"{prefix}text")


def draw_count(rows: Sequence[RunRow]) -> str:
    """`12 runs, 2 alive`."""
    alive = sum(row.status is not None and row.status.is_alive for row in rows)
    runs = "1 run" if len(rows) == 1 else f"{format_count(len(rows))} runs"
    return f"{runs}, {alive} alive" if alive else runs


def _numbers(row: RunRow, columns: Columns, prefix: str) -> Line:
    status = row.status
    assert status
    speed, fraction = status.env_steps_per_s, status.progress_fraction
    has_speed = speed is not None and math.isfinite(speed)
    has_fraction = fraction is not None and math.isfinite(fraction)
    line: Line = [(fit(format_age(status.age_s), _AGE_WIDTH, ">"), f"{prefix}dim")]
    if columns.speed:
        line.append((_number(format_si(speed or 0.0) if has_speed else UNKNOWN), f"{prefix}text"))
    line.append((_number(format_written(status.metrics.get(RETURN))), f"{prefix}text"))
    if columns.env_steps:
        line.append((_number(format_count(status.env_steps)), f"{prefix}text"))
    percent = fit(format_percent(fraction) if has_fraction else UNKNOWN, 1 + _PERCENT_WIDTH, ">")
    line.append((f"{percent} ", f"{prefix}text"))
    if columns.bar and has_fraction:
        line += draw_bar(fraction, columns.bar, condition_of(status).style, prefix)
    return line


def _number(text: str) -> str:
    return " " + fit(text, _NUMBER_WIDTH, ">")
