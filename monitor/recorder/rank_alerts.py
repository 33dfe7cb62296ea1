"""The alerts of one rank: decided, written down and told, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...shared.alert_rule import AlertRule
from ..runs.alerts import MARK, Alert, alerts_in
from .alert_watch import AlertWatch
from .events_file import EventsFile, event_line
from .page_watch import Page


class RankAlerts:
    """Remembers which rows of a rank were decided on, and what could not be written down yet."""

    def __init__(
        self,
        rank: int,
        events: EventsFile,
        rules: Callable[[], Sequence[AlertRule]],
        tell: Callable[[Alert, int], None],
    ) -> None:
        """`rules` are those of people. `tell` takes each new alert, and the rank."""
        self._rank, self._events = rank, events
        self._rules, self._tell = rules, tell
        self._found: list[Alert] = []
        self.begin()

    def begin(self) -> None:
        """Go on with the page of another process."""
        self._watch: AlertWatch | None = None
        self._judged = 0  # the publish up to which there are no new alerts

    def take(self, page: Page, last_row: Callable[[], int]) -> None:
        """Decide on the rows that came since the last time. A former recorder has decided on those
        up to the publish `last_row`. Raises PageError and OSError; nothing found is lost by that.
        """
        snapshot = page.reader.read()
        if snapshot and snapshot.publish != self._judged:
            self._judged = snapshot.publish
            if self._watch is None:
                self._watch = AlertWatch(last_row(), self._told())
            self._watch.follow(self._rules())
            phase = page.reader.phase()
            schema, history = page.reader.schema(), page.reader.history()
            self._found += self._watch.take(schema, history, phase.name if phase else "")
        self._write()

    def _write(self) -> None:
        lines = {event_line(alert.as_event(), self._rank): alert for alert in self._found}
        new = list(lines)  # on a disk that takes nothing, people are told all the same
        try:
            new = self._events.append(lines)
            self._found = []
        finally:
            for line in new:
                self._tell(lines[line], self._rank)

    def _told(self) -> Sequence[Alert]:
        """What former recorders found, as far as it stands in the file."""
        who = f"  rank {self._rank}: {MARK}" if self._rank else f"  {MARK}"
        return alerts_in(line for line in self._events.lines() if who in line)
