"""The messages of a run as lines: one each, or as many as their text takes; why a run failed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from ...shared import Event
from ...shared.console.console_file import time_of, wall_ns_of
from ...shared.text.harmless import harmless
from ..render.formatting import format_clock, format_count
from ..render.lines import Line, fit
from ..runs.reading.alerts import Alert
from ..runs.reading.file_tail import last_traceback
from ..runs.reading.run_view import RunView

_LOOKS = {
    "debug": ("·", "dim"),
    "info": ("·", "text"),
    "warning": ("▲", "warning"),
    "error": ("✗", "error"),
}
_BEST = re.compile(r"^best\.pt: ")  # the trainer says that a better policy is kept
NO_RECORDER = "no recorder beside this run: no alerts are decided"
_HEAD_WIDTH = len("12:31:05 · ")


def brief_lines(events: Sequence[Event], width: int) -> list[Line]:
    """Every event, broken at `width`. Of a text of several lines it is the first, of an error, such
    as a traceback, the last: there stands what happened.
    """
    brief = []
    for event in events:
        rows = _rows(event.text)
        brief.append(replace(event, text=rows[-1] if event.level == "error" else rows[0]))
    return full_lines(brief, width)


def full_lines(events: Sequence[Event], width: int) -> list[Line]:
    """Every event with all of its text, broken at `width`."""
    lines: list[Line] = []
    room = max(8, width - _HEAD_WIDTH)
    for event in events:
        _, style = _LOOKS[event.level]
        broken = [part for row in _rows(event.text) for part in _wrapped(row, room)]
        lines.append(_first(event, broken[0], width))
        lines += [[(" " * _HEAD_WIDTH + fit(row, room), style)] for row in broken[1:]]
    return lines


def _first(event: Event, text: str, width: int) -> Line:
    symbol, style = _LOOKS[event.level]
    symbol = "★" if _BEST.match(event.text) else symbol
    room = max(0, width - _HEAD_WIDTH)
    return [
        (f"{format_clock(event.wall_ns)} ", "dim"),
        (f"{symbol} ", style),
        (fit(text, room), style),
    ]


def _rows(text: str) -> list[str]:
    rows = [harmless(row.expandtabs(4)).rstrip() for row in text.splitlines()]
    return [row for row in rows if row.strip()] or [""]


def _wrapped(row: str, width: int) -> list[str]:
    """`row` in parts of `width` letters; its indentation stays."""
    return textwrap.wrap(row, width, drop_whitespace=False, break_on_hyphens=False) or [""]


def with_alerts(events: Sequence[Event], alerts: Sequence[Alert]) -> list[Event]:
    """Events and alerts in the order of their times."""
    alert_events = [
        Event(0, alert.wall_ns, alert.level, f"{alert.text}{_at(alert)}", alert.env_steps)
        for alert in alerts
    ]
    return sorted([*events, *alert_events], key=lambda event: event.wall_ns)


def matching(lines: Sequence[Line], words: Sequence[str]) -> list[Line]:
    """The lines that hold all `words`, whatever their case."""
    if not words:
        return list(lines)
    wanted = [word.lower() for word in words]
    return [
        line
        for line in lines
        if all(word in "".join(text for text, _ in line).lower() for word in wanted)
    ]


def _at(alert: Alert) -> str:
    return f" (at {format_count(alert.env_steps)} steps)" if alert.env_steps >= 0 else ""


def failure_events(view: RunView) -> tuple[Event, ...] | None:
    """The events of a run that failed or crashed, its traceback last and whole: an event holds the
    end of a traceback alone, the console all of it. None where nothing tells of one.
    """
    if view.status.state not in ("failed", "crashed"):
        return None
    printed = "\n".join(last_traceback(view.console))
    traceback = next(
        (e for e in reversed(view.events) if e.level == "error" and "\n" in e.text), None
    )
    if traceback is None and not printed:
        return None
    if traceback is None:
        traceback = Event(0, _last_printed_ns(view), "error", printed)
        return (*view.events, traceback)
    if printed.rstrip().endswith(traceback.text.rstrip()[-60:]):
        traceback = replace(traceback, text=printed)
    return (*(event for event in view.events if event.number != traceback.number), traceback)


def _last_printed_ns(view: RunView) -> int:
    """When the last line of the console was printed."""
    try:
        return wall_ns_of(time_of(view.console[-1]))
    except ValueError:  # a line that another program wrote
        return max((event.wall_ns for event in view.events), default=0)
