"""One look at a run: all that its screen shows, from one moment, never changed afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ....shared import Event, History, Metric, MetricsReader
from ....shared.runs.run_notes import NO_NOTES, RunNotes
from ....shared.runs.status import RunStatus
from ..machine.tuning_advice import Knobs
from .alerts import Alert
from .media import MediaFile
from .run_description import NO_DESCRIPTION, Description
from .run_rows import RowPoints

MAX_EVENTS = 256
_RECENT = 32  # rows over which publishes a second are counted


@dataclass(frozen=True, eq=False)  # arrays do not compare as one truth
class RunView:
    """`publish` counts the publishes behind the history; 0 before the first. `is_page_expected`
    tells a page that cannot be read from one that is not there yet; `num_rejected` counts metrics
    that found no room in it; `console` is the end of what it printed. `alerts` are those that
    the recorder has decided on; where no `is_recorded`, none are being decided now. `points` are
    what charts draw, where they are more than the history; as long as `is_loading`, more will come.
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
    points: RowPoints | None = None
    is_loading: bool = False
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

    def publishes_per_s(self) -> float | None:
        """From the history's newest rows."""
        if len(self.history) < 2:
            return None
        rows = slice(-_RECENT, None)
        counts, seconds = self.history.publish[rows], self.history.elapsed_s[rows]
        return float(counts[-1] - counts[0]) / max(float(seconds[-1] - seconds[0]), 1e-9)


def view_of(reader: MetricsReader, status: RunStatus, before: RunView | None) -> RunView:
    """What an open page says, given the view `before` of the same page. Raises PageError."""
    snapshot = reader.read()
    publish = snapshot.publish if snapshot else 0
    is_old = before is not None and before.publish == publish
    events = before.events if before else ()
    new = reader.events(after=events[-1].number if events else 0)
    return RunView(
        status=status,
        history=before.history if before and is_old else reader.history(),
        schema=tuple(reader.schema()),
        events=(*events, *new)[-MAX_EVENTS:],
        publish=publish,
        num_rejected=reader.num_rejected_metrics(),
    )
