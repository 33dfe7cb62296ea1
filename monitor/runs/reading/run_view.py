"""One look at a run: all that its screen shows, from one moment, never changed afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....shared import Event, History, Metric, MetricsReader
from ....shared.rows.curves import Curves
from ....shared.runs.run_notes import NO_NOTES, RunNotes
from ....shared.runs.status import RunStatus
from ..machine.tuning_advice import Knobs
from .alerts import Alert
from .media import MediaFile
from .run_description import NO_DESCRIPTION, Description

MAX_EVENTS = 256
Flags = NDArray[np.bool_]
_RECENT = 32  # rows over which publishes a second are counted


class Wanted:
    """The part of a run that is looked at closely, as numbers of its first and last row: the screen
    says so, and the poller's thread takes it.
    """

    def __init__(self) -> None:
        self.rows: tuple[int, int] | None = None

    def add(self, first: int, last: int) -> None:
        rows = self.rows
        self.rows = (min(first, rows[0]), max(last, rows[1])) if rows else (first, last)


@dataclass(frozen=True, eq=False)  # arrays do not compare as one truth
class RunView:
    """`publish` counts the publishes behind the history; 0 before the first. `is_page_expected`
    tells a page that cannot be read from one that is not there yet; `num_rejected` counts metrics
    that found no room in it; `console` is the end of what it printed. `alerts` are those that
    the recorder has decided on; where no `is_recorded`, none are being decided now. `detail` are
    the rows of a part of the history that was `wanted` more closely.
    `knobs` are None where nothing is known of the run's configuration. `notes` are what people
    wrote about the run, `description` what it was run with, `media` the files that it logged,
    `num_media_elsewhere` how many there are on another machine.
    """

    status: RunStatus
    history: History = field(default_factory=History)
    schema: tuple[Metric, ...] = ()
    events: tuple[Event, ...] = ()
    publish: int = 0
    is_page_expected: bool = True
    num_rejected: int = 0
    console: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()
    is_recorded: bool = True
    detail: History | None = None
    wanted: Wanted = field(default_factory=Wanted)
    knobs: Knobs | None = None
    notes: RunNotes = NO_NOTES
    description: Description = NO_DESCRIPTION
    media: tuple[MediaFile, ...] = ()
    num_media_elsewhere: int = 0

    @property
    def name(self) -> str:
        """That which people gave the run, else its id."""
        return self.notes.name or self.status.run

    @property
    def newest(self) -> Mapping[str, float]:
        """The newest value of every metric of the page."""
        return self.status.metrics

    @property
    def elapsed_s(self) -> float | None:
        """Seconds of training up to the last publish."""
        return float(self.history.elapsed_s[-1]) if len(self.history) else None

    @property
    def begins_at(self) -> int:
        """The first publish of the curves, 0 without one: a page holds the newest rows alone."""
        history = self.history
        return int(history.publish[0] - history.num_publishes[0]) + 1 if len(history) else 0

    def closer(self, seen: Flags) -> History:
        """The rows of the history that are `seen` [R], folded less where that is at hand. Where it
        is not, it is asked for, and there at a later look.
        """
        history = self.history
        rows = np.flatnonzero(seen)
        if not len(rows) or history.num_publishes[rows].max() == 1:
            return history
        first = int(history.last_row[rows[0]] - history.num_publishes[rows[0]]) + 1
        last = int(history.last_row[rows[-1]])
        self.wanted.add(first, last)
        detail = self.detail
        if detail is None or not len(detail) or detail.first_row > first:
            return history
        is_finer = detail.num_publishes.max() < history.num_publishes[rows].max()
        return detail if is_finer and detail.last_row[-1] >= last else history

    def publishes_per_s(self) -> float | None:
        """From the history's newest rows."""
        if len(self.history) < 2:
            return None
        rows = slice(-_RECENT, None)
        counts, seconds = self.history.publish[rows], self.history.elapsed_s[rows]
        return float(counts[-1] - counts[0]) / max(float(seconds[-1] - seconds[0]), 1e-9)


def view_of(
    reader: MetricsReader, curves: Curves, status: RunStatus, before: RunView | None
) -> RunView:
    """The view of an open page and its curves; `before` is the previous one. Raises PageError."""
    history = curves.history()
    events = before.events if before else ()
    new = reader.events(after=events[-1].number if events else 0)
    return RunView(
        status=status,
        history=history,
        schema=tuple(curves.metrics),
        events=(*events, *new)[-MAX_EVENTS:],
        publish=int(history.publish[-1]) if len(history) else 0,
        num_rejected=reader.num_rejected_metrics(),
    )
