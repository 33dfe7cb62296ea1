"""Why a run failed, as completely as it is known."""

from __future__ import annotations

from dataclasses import replace

from ...shared import Event
from ...shared.console.console_file import time_of, wall_ns_of
from ..runs.reading.file_tail import last_traceback
from ..runs.reading.run_view import RunView


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
