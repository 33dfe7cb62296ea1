"""The list of runs as lines: columns that give way to the name when the screen is narrow."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from ..look.formatting import (
    UNKNOWN,
    counted,
    format_age,
    format_count,
    format_percent,
    format_si,
    format_written,
)
from ..look.lines import Line, fit, fit_line, fit_middle, line_width
from .conditions import condition_of
from .run_summary import RETURN, draw_bar
from .runs_poller import RunRow

_STATE_WIDTH, _AGE_WIDTH, _NUMBER_WIDTH, _PERCENT_WIDTH, _DEVICE_WIDTH = 10, 7, 8, 6, 7
_MIN_NOTE_WIDTH = 8
_MIN_BAR_WIDTH, _MAX_BAR_WIDTH = 8, 24
_STAMP = re.compile(r"^\d{8}-\d{6}-(?=.)")
_SHORT_NAME_WIDTH, _FULL_NAME_WIDTH, _MAX_NAME_WIDTH = 20, 34, 64  # full: with the date in the id


@dataclass(frozen=True)
class Columns:
    """Widths in cells; 0 for a column that is left out."""

    name: int
    speed: int
    env_steps: int
    device: int
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
    device = 1 + _DEVICE_WIDTH if room >= _SHORT_NAME_WIDTH + 1 + _DEVICE_WIDTH else 0
    room -= device
    bar = min(_MAX_BAR_WIDTH, (room - _FULL_NAME_WIDTH) // 2)
    bar = bar if bar >= _MIN_BAR_WIDTH else 0
    return Columns(max(4, min(room - bar, _MAX_NAME_WIDTH)), speed, env_steps, device, bar)


def draw_head(width: int, order: str = "newest", is_reversed: bool = False) -> Line:
    """The names of the columns; that of the order stands out, with the way it goes."""
    line: Line = []
    for name, cells, align in _heads(width):
        is_order = name == order
        text = f"{name}{'↑' if is_reversed else '↓'}" if is_order else name
        indent = "   " if name == "state" else ""
        line.append(
            (indent + fit(text, cells - len(indent), align), "focus" if is_order else "dim")
        )
        line.append((" ", "dim"))
    return fit_line(line, width, "dim")


def order_under(width: int, column: int) -> str | None:
    """The order whose column stands at a cell of the head."""
    start = 0
    for name, cells, _ in _heads(width):
        if start <= column < start + cells + 1:
            return name
        start += cells + 1
    return None


def draw_row(row: RunRow, width: int, is_selected: bool, mark: str = " ") -> Line:
    """One run: what it is, how it is doing, how far it is. `mark` is a letter before its state."""
    prefix = "cursor_" if is_selected else ""
    columns = columns_of(width)
    name = short_name(row.name, columns.name)
    notes = _notes(row, columns.name - cell_len(name), prefix)
    marks: Line = [("▌" if is_selected else " ", f"{prefix}focus")]
    if row.status is None:
        unread: Line = [
            (f"  {'…':{_STATE_WIDTH}} ", f"{prefix}dim"),
            (name, f"{prefix}text"),
            *notes,
        ]
        return fit_line([*marks, *unread], width, f"{prefix}text")
    condition = condition_of(row.status, row.is_page_expected)
    line = [
        *marks,
        (f"{condition.symbol}", f"{prefix}{condition.style}"),
        (mark, f"{prefix}focus"),
        (f"{fit(condition.word, _STATE_WIDTH)} ", f"{prefix}{condition.style}"),
        (name, f"{prefix}{'strong' if is_selected else 'text'}"),
        *notes,
        (" ", f"{prefix}text"),
    ]
    if row.status.age_s is None:
        line.append((fit(condition.notice, width - line_width(line)), f"{prefix}dim"))
    else:
        line += _numbers(row, columns, prefix)
    return fit_line(line, width, f"{prefix}text")


def _notes(row: RunRow, room: int, prefix: str) -> Line:
    """Tags, then the note, in the `room` that the name leaves of its column; blank where none."""
    line: Line = []
    for tag in row.notes.tags:
        if cell_len(tag) + 2 <= room:
            line.append((f" #{tag}", f"{prefix}focus"))
            room -= cell_len(tag) + 2
    text = f" {row.notes.note}" if row.notes.note and room >= _MIN_NOTE_WIDTH else ""
    return [*line, (fit(text, room), f"{prefix}dim")]


def _heads(width: int) -> list[tuple[str, int, str]]:
    """Name, width and alignment of every column that is shown; between two is one cell."""
    columns = columns_of(width)
    heads = [("state", 3 + _STATE_WIDTH, "<"), ("run", columns.name, "<"), ("age", _AGE_WIDTH, ">")]
    if columns.speed:
        heads.append(("steps/s", _NUMBER_WIDTH, ">"))
    heads.append(("return", _NUMBER_WIDTH, ">"))
    if columns.env_steps:
        heads.append(("steps", _NUMBER_WIDTH, ">"))
    if columns.device:
        heads.append(("device", _DEVICE_WIDTH, ">"))
    return [*heads, ("done", _PERCENT_WIDTH, ">")]


def short_name(run_id: str, width: int) -> str:
    """A run's id in at most `width` cells; where it is narrow without the date in it."""
    return fit_middle(_STAMP.sub("", run_id) if width < _FULL_NAME_WIDTH else run_id, width)


def draw_count(rows: Sequence[RunRow]) -> str:
    """`12 runs, 2 alive`."""
    alive = sum(row.status is not None and row.status.is_alive for row in rows)
    runs = counted(len(rows), "run")
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
    if columns.device:
        line.append((" " + fit(row.device or UNKNOWN, _DEVICE_WIDTH, ">"), f"{prefix}dim"))
    percent = fit(format_percent(fraction) if has_fraction else UNKNOWN, 1 + _PERCENT_WIDTH, ">")
    line.append((f"{percent} ", f"{prefix}text"))
    if columns.bar and has_fraction:
        line += draw_bar(fraction, columns.bar, condition_of(status).style, prefix)
    return line


def _number(text: str) -> str:
    return " " + fit(text, _NUMBER_WIDTH, ">")
