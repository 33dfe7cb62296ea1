"""The list of runs as lines: columns that give way to the name when the screen is narrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from ..charts.charted_metrics import RETURN, is_learning_curve, main_metric
from ..render.formatting import (
    UNKNOWN,
    counted,
    format_age,
    format_count,
    format_percent,
    format_relative,
    format_si,
    format_written,
)
from ..render.lines import Line, fit, fit_end, fit_line, fit_middle, line_width
from ..render.sparks import sparkline
from ..runs.list.run_order import is_order, shown_value, value_text
from ..runs.list.run_values import STAMP
from ..runs.list.runs_poller import HERE, RunRow
from ..runs.reading.conditions import condition_of
from .run_summary import draw_bar

_STATE_WIDTH, _AGE_WIDTH, _NUMBER_WIDTH, _PERCENT_WIDTH, _DEVICE_WIDTH = 10, 7, 8, 6, 7
_MIN_NOTE_WIDTH = 8
_MAX_MACHINE_WIDTH = 14
_MIN_BAR_WIDTH, _MAX_BAR_WIDTH = 8, 24
_MAX_VALUE_WIDTH, _WIDE = 20, 110
_MIN_SPARK_WIDTH, _MAX_SPARK_WIDTH = 8, 16
_SHORT_NAME_WIDTH, _FULL_NAME_WIDTH, _MAX_NAME_WIDTH = 20, 34, 64  # full: with the date in the id


@dataclass(frozen=True)
class Columns:
    """Widths in cells; 0 for a column that is left out. `value` is what the list is sorted by,
    where that has no other column; `relative` the return relative to the reference's; `spark` the
    return over the run.
    """

    name: int
    age: int
    value: int
    relative: int
    spark: int
    speed: int
    env_steps: int
    device: int
    bar: int


def machine_width(hosts: Sequence[str]) -> int:
    """The width of the column of machines; 0, which leaves it out, where there are no others."""
    if not hosts:
        return 0
    return min(max(len(name) for name in ("machine", *hosts)) + 1, _MAX_MACHINE_WIDTH)


def columns_of(
    width: int, order: str = "newest", machine: int = 0, has_reference: bool = False
) -> Columns:
    """The columns for a screen of `width` cells, `machine` of them for the machine's name."""
    width -= machine + 1 if machine else 0
    state, percent, number = 3 + _STATE_WIDTH + 1, 1 + _PERCENT_WIDTH + 1, 1 + _NUMBER_WIDTH
    age = 1 + _AGE_WIDTH
    value = _value_width(width, order)
    room = width - state - number - percent - value
    age = age if not value or room >= _SHORT_NAME_WIDTH + age else 0
    room -= age
    relative = number if has_reference and room >= _SHORT_NAME_WIDTH + number else 0
    room -= relative
    speed = number if room >= _SHORT_NAME_WIDTH + number else 0
    room -= speed
    env_steps = number if room >= _FULL_NAME_WIDTH + 2 * number else 0
    room -= env_steps
    device = 1 + _DEVICE_WIDTH if room >= _SHORT_NAME_WIDTH + 1 + _DEVICE_WIDTH else 0
    room -= device
    spark = min(_MAX_SPARK_WIDTH, room - _FULL_NAME_WIDTH - 1)
    spark = 1 + spark if spark >= _MIN_SPARK_WIDTH else 0
    room -= spark
    bar = min(_MAX_BAR_WIDTH, (room - _FULL_NAME_WIDTH) // 2)
    bar = bar if bar >= _MIN_BAR_WIDTH else 0
    name = max(4, min(room - bar, _MAX_NAME_WIDTH))
    return Columns(name, age, value, relative, spark, speed, env_steps, device, bar)


def _value_width(width: int, order: str) -> int:
    """The width of the value's name, if there is room."""
    name = shown_value(order)
    most = _MAX_VALUE_WIDTH if width >= _WIDE else _NUMBER_WIDTH
    return 1 + max(_NUMBER_WIDTH, min(len(name) + 1, most)) if name else 0


def draw_head(
    width: int,
    order: str = "newest",
    is_reversed: bool = False,
    machine: int = 0,
    main: str = "return",
    has_reference: bool = False,
) -> Line:
    """The names of the columns; that of the order stands out, with the way it goes. `main` is the
    `main_heading` of the runs.
    """
    line: Line = []
    for name, cells, align in _heads(width, order, machine, has_reference):
        is_order = name == order
        shown = main if name == "return" else shown_value(name) or name
        mark = ("↑" if is_reversed else "↓") if is_order else ""
        indent = "   " if name == "state" else ""
        text = f"{fit_end(shown, cells - len(indent) - len(mark))}{mark}"
        line.append(
            (indent + fit(text, cells - len(indent), align), "focus" if is_order else "dim")
        )
        line.append((" ", "dim"))
    return fit_line(line, width, "dim")


def order_under(
    width: int, column: int, order: str = "newest", machine: int = 0, has_reference: bool = False
) -> str | None:
    """The order whose column stands at a cell of the head."""
    start = 0
    for name, cells, _ in _heads(width, order, machine, has_reference):
        if start <= column < start + cells + 1:
            return name if is_order(name) else "return"
        start += cells + 1
    return None


def draw_row(
    row: RunRow,
    width: int,
    is_selected: bool,
    mark: str = " ",
    order: str = "newest",
    machine: int = 0,
    reference: RunRow | None = None,
) -> Line:
    """One run: what it is, how it is doing, how far it is. `mark` is a letter before its state."""
    prefix = "cursor_" if is_selected else ""
    columns = columns_of(width, order, machine, reference is not None)
    name = short_name(row.name, columns.name)
    main = main_metric(row.status.metrics) if row.status else ""
    main = "" if main == RETURN else main
    # A tag, or the name of a metric, says more than the date.
    if any(
        cell_len(f"{name} {word}") > columns.name
        for word in (*(f"#{tag}" for tag in row.notes.tags[:1]), main)
        if word
    ):
        name = fit_middle(STAMP.sub("", name), columns.name)
    notes = _notes(row, main, columns.name - cell_len(name), prefix)
    where = _machine(row, machine, prefix)
    marks: Line = [("▌" if is_selected else " ", f"{prefix}focus")]
    if row.status is None:
        unread: Line = [
            (f"  {'…':{_STATE_WIDTH}} ", f"{prefix}dim"),
            (name, f"{prefix}text"),
            *notes,
            *where,
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
        *where,
    ]
    if row.status.age_s is None:
        line.append((fit(f" {condition.notice}", width - line_width(line)), f"{prefix}dim"))
    else:
        line += _numbers(row, columns, prefix, order, reference)
    return fit_line(line, width, f"{prefix}text")


def _notes(row: RunRow, main: str, room: int, prefix: str) -> Line:
    """Tags, the name of the `main` metric, then the note, in the `room` that the name leaves of its
    column; blank where none.
    """
    line: Line = []
    for tag in row.notes.tags:
        if cell_len(tag) + 2 <= room:
            line.append((f" #{tag}", f"{prefix}focus"))
            room -= cell_len(tag) + 2
    if main and cell_len(main) < room:
        line.append((f" {main}", f"{prefix}dim"))
        room -= cell_len(main) + 1
    text = f" {row.notes.note}" if row.notes.note and room >= _MIN_NOTE_WIDTH else ""
    return [*line, (fit(text, room), f"{prefix}dim")]


def _machine(row: RunRow, width: int, prefix: str) -> Line:
    """The name of the run's machine, marked where that does not answer."""
    if not width:
        return []
    name = f"▲{row.host}" if row.is_lost else row.host or HERE
    return [(f" {fit(name, width)}", f"{prefix}{'warning' if row.is_lost else 'dim'}")]


def _heads(width: int, order: str, machine: int, has_reference: bool) -> list[tuple[str, int, str]]:
    """Order or name, width and alignment of every column; between two is one cell."""
    columns = columns_of(width, order, machine, has_reference)
    heads = [
        ("state", 3 + _STATE_WIDTH + 1, "<"),
        ("run", columns.name + 1, "<"),
        ("machine", machine + 1 if machine else 0, "<"),
        ("age", columns.age, ">"),
        ("steps/s", columns.speed, ">"),
        (order, columns.value, ">"),
        ("return", 1 + _NUMBER_WIDTH, ">"),
        ("vs ref", columns.relative, ">"),
        ("curve", columns.spark, "<"),
        ("steps", columns.env_steps, ">"),
        ("device", columns.device, ">"),
        ("done", 1 + _PERCENT_WIDTH, ">"),
    ]
    return [(name, cells - 1, align) for name, cells, align in heads if cells]


def short_name(run_id: str, width: int) -> str:
    """A run's id in at most `width` cells; where it is narrow without the date in it."""
    return fit_middle(STAMP.sub("", run_id) if width < _FULL_NAME_WIDTH else run_id, width)


def draw_count(rows: Sequence[RunRow]) -> str:
    """`12 runs, 2 alive`."""
    alive = sum(row.status is not None and row.status.is_alive for row in rows)
    runs = counted(len(rows), "run")
    return f"{runs}, {alive} alive" if alive else runs


def _numbers(
    row: RunRow, columns: Columns, prefix: str, order: str, reference: RunRow | None
) -> Line:
    status = row.status
    assert status
    speed, fraction = status.env_steps_per_s, status.progress_fraction
    has_speed = speed is not None and math.isfinite(speed)
    has_fraction = fraction is not None and math.isfinite(fraction)
    line: Line = []
    if columns.age:
        line.append((" " + fit(format_age(status.age_s), _AGE_WIDTH, ">"), f"{prefix}dim"))
    if columns.speed:
        line.append((_number(format_si(speed or 0.0) if has_speed else UNKNOWN), f"{prefix}text"))
    if columns.value:
        value = fit(value_text(row, order), columns.value - 1, ">")
        line.append((f" {value}", f"{prefix}strong"))
    main = main_metric(status.metrics) or RETURN
    style = "text" if main == RETURN else "dim"
    text = format_written(status.metrics.get(main), _NUMBER_WIDTH)
    line.append((_number(text), f"{prefix}{style}"))
    if reference and columns.relative:
        metrics = reference.status.metrics if reference.status else {}
        relative = format_relative(status.metrics.get(main), metrics.get(main))
        line.append((_number("ref" if row.run == reference.run else relative), f"{prefix}text"))
    if columns.spark:
        spark = sparkline(row.returns, columns.spark - 1, is_learning_curve(main))
        line.append((f" {spark}", f"{prefix}good"))
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
