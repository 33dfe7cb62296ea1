"""The columns of the list of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rich.cells import cell_len

from ...shared.runs.run_notes import RunNotes
from ...shared.runs.status import RunStatus
from ..charts.charted_metrics import RETURN, is_learning_curve, main_metric
from ..render.columns import Column
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
from ..render.lines import Line, fit, fit_middle
from ..render.sparks import sparkline
from ..runs.list.run_order import shown_value, value_text
from ..runs.list.run_values import STAMP
from ..runs.list.runs_poller import HERE, RunRow
from ..runs.reading.conditions import Condition, condition_of
from .run_summary import draw_bar

NUMBER_WIDTH = 8
_MAX_VALUE_WIDTH = 20
_MIN_NOTE_WIDTH, _MAX_MACHINE_WIDTH = 8, 14
_FULL_NAME_WIDTH, _MAX_NAME_WIDTH = 34, 64  # full: with the date in the id


def run_columns(
    order: str = "newest",
    hosts: Sequence[str] = (),
    main: str = "return",
    reference: RunRow | None = None,
) -> list[Column[RunRow]]:
    """The columns of a list by `order`, of runs on this machine and on `hosts`. `main` is the
    `main_heading` of the runs; with a `reference`, a column has the distances from its value.
    """
    machine_width = min(max(map(len, ("machine", *hosts))) + 1, _MAX_MACHINE_WIDTH)
    machine = Column("machine", lambda row: row.host or HERE, machine_width, order="machine",
                     draw=_draw_machine)  # fmt: skip
    relative = Column[RunRow]("vs ref", lambda row: _relative(row, reference), NUMBER_WIDTH,
                              priority=2, align=">", order="return")  # fmt: skip
    return [
        Column("state", lambda row: _condition(row).word, 12, order="state", draw=_draw_state),
        Column("run", _full_name, 20, _MAX_NAME_WIDTH, align="<>", order="run", draw=_draw_name,
               keeps=_FULL_NAME_WIDTH),
        *([machine] if hosts else []),
        Column("age", lambda row: format_age(_status(row).age_s), 7, priority=1, align=">",
               style="dim", order="age"),
        Column("steps/s", _speed, NUMBER_WIDTH, priority=3, align=">", order="steps/s"),
        *value_columns(order, value_text),
        Column(main, _main_text, NUMBER_WIDTH, align=">", order="return", draw=_draw_main),
        *([relative] if reference else []),
        Column("curve", no_text, 10, 16, 6, order="return", draw=_draw_curve),
        Column("steps", lambda row: format_count(_status(row).env_steps), NUMBER_WIDTH, priority=5,
               align=">", order="steps"),
        Column("device", lambda row: row.device or UNKNOWN, 7, priority=4, align=">", style="dim",
               order="device"),
        Column("done", lambda row: format_percent(_status(row).progress_fraction), 6, align=">",
               order="done"),
        Column("", no_text, 8, 24, 7, draw=_draw_progress),
        Column("about", _about, 16, 80, 8, draw=_draw_about),
    ]  # fmt: skip


def value_columns(order: str, text: Callable[[Any, str], str]) -> list[Column[Any]]:
    """The column of what a list is sorted by, if it has none of its own."""
    name = shown_value(order)
    most = min(len(name) + 1, _MAX_VALUE_WIDTH)
    column = Column[Any](name, lambda row: text(row, order), NUMBER_WIDTH, most, -1, ">", "strong",
                         order)  # fmt: skip
    return [column] if name else []


def no_text(_: object) -> str:
    """The text of a column that is only drawn."""
    return ""


def notice_of(row: RunRow) -> str:
    """The text in place of the numbers of a run that has none yet; a blank while it is unread."""
    if row.status is None:
        return " "
    return f" {_condition(row).notice}" if row.status.age_s is None else ""


def notes_in_words(notes: RunNotes) -> str:
    """`#baseline #v2 a wider network (archived)`; empty where nobody wrote anything."""
    words = [*(f"#{tag}" for tag in notes.tags), notes.note]
    return " ".join(filter(None, [*words, "(archived)" if notes.is_archived else ""]))


def short_name(run_id: str, width: int) -> str:
    """A run's id in at most `width` cells; where it is narrow without the date in it."""
    return fit_middle(STAMP.sub("", run_id) if width < _FULL_NAME_WIDTH else run_id, width)


def draw_count(rows: Sequence[RunRow]) -> str:
    """`12 runs, 2 alive`."""
    alive = sum(row.status is not None and row.status.is_alive for row in rows)
    runs = counted(len(rows), "run")
    return f"{runs}, {alive} alive" if alive else runs


def _status(row: RunRow) -> RunStatus:
    return row.status or RunStatus(row.run.id, "running")


def _condition(row: RunRow) -> Condition:
    if row.status is None:
        return Condition("…", " ", "dim")
    return condition_of(row.status, row.is_page_expected)


def _draw_state(row: RunRow, width: int) -> Line:
    condition = _condition(row)
    return [(f"{condition.symbol} {condition.word}", condition.style)]


def _full_name(row: RunRow) -> str:
    """The name that commands take."""
    return f"{row.host}:{row.name}" if row.host else row.name


def _draw_name(row: RunRow, width: int) -> Line:
    """The name, tags, the name of the main metric if that is not the return, and the note."""
    name, main = short_name(row.name, width), _other_main(row)
    # A tag, or the name of a metric, says more than the date.
    words = [*(f"#{tag}" for tag in row.notes.tags[:1]), *([main] if main else [])]
    if any(cell_len(f"{name} {word}") > width for word in words):
        name = fit_middle(STAMP.sub("", name), width)
    line: Line = [(name, "name")]
    room = width - cell_len(name)
    for text, style in [*((f" #{tag}", "focus") for tag in row.notes.tags), (f" {main}", "dim")]:
        if len(text) > 1 and cell_len(text) <= room:
            line.append((text, style))
            room -= cell_len(text)
    if row.notes.note and room >= _MIN_NOTE_WIDTH:
        line.append((fit(f" {row.notes.note}", room), "dim"))
    return line


def _draw_machine(row: RunRow, width: int) -> Line:
    """The name of the run's machine, marked if that does not answer."""
    name = f"▲{row.host}" if row.is_lost else row.host or HERE
    return [(fit(name, width), "warning" if row.is_lost else "dim")]


def _speed(row: RunRow) -> str:
    speed = _status(row).env_steps_per_s
    return format_si(speed) if speed is not None and math.isfinite(speed) else UNKNOWN


def _other_main(row: RunRow) -> str:
    """The name of the run's main metric; empty if that is the return, or if it has none."""
    name = main_metric(_status(row).metrics)
    return "" if name == RETURN else name


def _main_value(row: RunRow) -> float | None:
    return _status(row).metrics.get(_other_main(row) or RETURN)


def _main_text(row: RunRow) -> str:
    return format_written(_main_value(row), NUMBER_WIDTH)


def _draw_main(row: RunRow, width: int) -> Line:
    return [(fit(_main_text(row), width, ">"), "dim" if _other_main(row) else "text")]


def _relative(row: RunRow, reference: RunRow | None) -> str:
    """How far the main metric is above that of the reference."""
    if reference is None or row.run == reference.run:
        return "ref"
    other = _status(reference).metrics.get(_other_main(row) or RETURN)
    return format_relative(_main_value(row), other)


def _draw_curve(row: RunRow, width: int) -> Line:
    """The main metric over the run."""
    is_learning = is_learning_curve(_other_main(row) or RETURN)
    return [(sparkline(row.returns, width, is_learning), "good")]


def _draw_progress(row: RunRow, width: int) -> Line:
    fraction = _status(row).progress_fraction
    is_known = fraction is not None and math.isfinite(fraction)
    return draw_bar(fraction, width, _condition(row).style) if is_known else []


def _about(row: RunRow) -> str:
    """What else there is to say: a notice, the name of the main metric, tags and note."""
    words = (_doing(row), _other_main(row), notes_in_words(row.notes))
    return "; ".join(filter(None, words))


def _doing(row: RunRow) -> str:
    return _condition(row).progress or _condition(row).notice


def _draw_about(row: RunRow, width: int) -> Line:
    return [(fit(_doing(row), width), "dim")]
