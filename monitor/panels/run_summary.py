"""The head of a run's screen: its name and state, the numbers everybody asks for, how far it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from ..charts.charted_metrics import RETURN, main_metric, steps_name
from ..render.formatting import (
    UNKNOWN,
    counted,
    format_age,
    format_count,
    format_duration,
    format_left,
    format_percent,
    format_si,
    format_written,
)
from ..render.lines import Line, fit, fit_middle, line_width, spread
from ..runs.reading.alerts import Alert
from ..runs.reading.conditions import Condition, condition_of
from ..runs.reading.run_view import RunView
from .event_lines import NO_RECORDER

_VALUE_WIDTH = 7
_GAP = "   "
_MIN_NOTE_WIDTH = 12


def draw_title(view: RunView, width: int) -> Line:
    """` 20261121-142530-cart_pole-ppo-k3f9          ● running · <1s ago `."""
    condition = condition_of(view.status, view.is_page_expected)
    state = _state(view, condition)
    room = max(0, width - line_width(state) - 3)
    name = fit_middle(view.name, room)
    line: Line = [(" ", "bar_text"), (name, "bar_strong")]
    return spread([*line, *_notes(view, room - cell_len(name))], state, width, "bar_text")


def draw_numbers(view: RunView, width: int) -> Line:
    """Labelled numbers at places that do not move; as many as there is room for."""
    line: Line = [(" ", "text")]
    for label, value in _numbers(view):
        piece: Line = [(f"{label} ", "dim"), (fit(value, _VALUE_WIDTH), "strong"), (_GAP, "text")]
        if line_width(line) + line_width(piece) - len(_GAP) <= width:
            line += piece
    return line


def draw_progress(view: RunView, width: int) -> Line:
    """A bar, the share that is done, the time that it took and the time that is left."""
    fraction = view.status.progress_fraction
    known = fraction is not None and math.isfinite(fraction)
    words: Line = [
        (fit(format_percent(fraction) if known else "", 7, ">"), "strong"),
        (f"  {_times(view)} ", "dim"),
    ]
    room = max(0, width - 1 - line_width(words))
    style = condition_of(view.status, view.is_page_expected).style
    return [(" ", "text"), *draw_bar(fraction if known else 0.0, room, style), *words]


def draw_bar(fraction: float | None, width: int, style: str, prefix: str = "") -> Line:
    """`fraction` of `width` cells, in steps of half a cell."""
    halves = round(2 * width * min(max(fraction or 0.0, 0.0), 1.0))
    whole, half = divmod(halves, 2)
    done = "━" * whole + "╸" * half
    return [(done, prefix + style), ("─" * (width - whole - half), f"{prefix}faint")]


def draw_notice(
    view: RunView, width: int, alerts: Sequence[Alert] = (), warning: str = ""
) -> Line | None:
    """A line of its own for what needs attention; None when there is nothing to say."""
    condition = condition_of(view.status, view.is_page_expected)
    label, style, text = f" {condition.symbol} {condition.word} ", condition.style, condition.notice
    if not text and warning:
        label, style, text = " ▲ settings ", "warning", warning
    if not text and alerts:
        newest = alerts[-1]
        style = newest.level
        label = f" ▲ {len(alerts)} alerts " if len(alerts) > 1 else " ▲ alert "
        where = f" (at {format_count(newest.env_steps)})" if newest.env_steps >= 0 else ""
        text = newest.text + where
    if not text and view.num_rejected:
        are = "is" if view.num_rejected == 1 else "are"
        text = f"the page is full: {counted(view.num_rejected, 'metric')} {are} not shown"
    if not text and view.status.is_alive and not view.is_recorded and view.publish:
        label, style, text = " no alerts ", "quiet", NO_RECORDER
        if view.begins_at > 1:
            text += f", and curves begin at publish {format_count(view.begins_at)}"
    if not text:
        return None
    room = max(0, width - len(label) - 1)
    return [(label, f"bar_{style}"), (fit(text, room), "bar_text"), (" ", "bar_text")]


def _notes(view: RunView, room: int) -> Line:
    """Tags that fit whole, then as much of the note as is worth reading."""
    line: Line = []
    for tag in view.notes.tags:
        piece = f"  #{tag}" if not line else f" #{tag}"
        if cell_len(piece) <= room:
            line.append((piece, "bar_focus"))
            room -= cell_len(piece)
    if view.notes.note and room >= _MIN_NOTE_WIDTH:
        note = f"  {view.notes.note}"
        line.append((note if cell_len(note) <= room else fit(note, room), "bar_dim"))
    return line


def _state(view: RunView, condition: Condition) -> Line:
    words = condition.progress or condition.word
    line: Line = [(f"{condition.symbol} {words}", f"bar_{condition.style}")]
    if view.status.age_s is not None:
        line.append((f" · {format_age(view.status.age_s)} ago", "bar_dim"))
    return [*line, (" ", "bar_text")]


def _numbers(view: RunView) -> list[tuple[str, str]]:
    """Labels and numbers: of what a trainer publishes, or of what every page has."""
    status = view.status
    if view.publish and status.env_steps is None and RETURN not in status.metrics:
        numbers = [
            ("publishes/s", _speed(view.publishes_per_s())),
            ("publishes", format_count(view.publish)),
            ("metrics", format_count(len(view.schema))),
        ]
    else:
        numbers = [
            ("steps/s", _speed(status.env_steps_per_s)),
            _main_number(status.metrics),
            (steps_name(metric.name for metric in view.schema), format_count(status.env_steps)),
        ]
    if status.iteration is not None or not view.publish:
        numbers.append(("iteration", format_count(status.iteration)))
    return numbers


def _main_number(metrics: Mapping[str, float]) -> tuple[str, str]:
    name = main_metric(metrics) or RETURN
    return name.rpartition("/")[2], format_written(metrics.get(name), _VALUE_WIDTH)


def _speed(per_s: float | None) -> str:
    return UNKNOWN if per_s is None else format_si(per_s)


def _times(view: RunView) -> str:
    elapsed = format_duration(view.elapsed_s)
    if not view.status.is_alive:
        return f"ran {elapsed}"
    return ", ".join(filter(None, [f"{elapsed} elapsed", format_left(view.status.eta_s)]))
