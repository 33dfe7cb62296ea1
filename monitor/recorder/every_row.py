"""Every row of one rank: from its page to its file, and to the sinks, which read that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ...shared.run_folder import Run
from .page_watch import Page
from .row_drain import RowDrain
from .rows import Row

TAKEN_EVERY_S = 1.0  # at least; sooner when much waits


class RowTaker(Protocol):
    """Where rows go beside the file."""

    def write(self, rank: int, rows: Sequence[Row]) -> None: ...

    def write_newest(self, rank: int, rows: Sequence[Row]) -> None: ...

    def rows_came(self, rank: int, path: Path) -> None: ...

    def notes(self, rank: int) -> dict[str, str]: ...


class EveryRow:
    """Takes rows when they are due, and has their file keep how far each sink is. Errors are those
    of pages and of disks.
    """

    def __init__(
        self, run: Run, rank: int, sinks: Sequence[RowTaker], now: Callable[[], float]
    ) -> None:
        self._path, self._rank, self._sinks, self._now = run.rows_path(rank), rank, sinks, now
        self._drain = RowDrain(self._path)
        self._taken_s = float("-inf")
        self._are_sinks_told = False  # of the rows that a former recorder left

    def begin(self, page: Page) -> None:
        """Go on with `page`."""
        self._drain.begin(page)
        self._taken_s = float("-inf")

    def take_if_due(self) -> None:
        if self._now() - self._taken_s >= TAKEN_EVERY_S or self._drain.is_due():
            self._taken_s = self._now()
            self._take()

    def take_all(self) -> None:
        while self._take():
            pass

    def _take(self) -> int:
        """How many rows those were."""
        num_rows = self._drain.take(self._notes())
        if self._drain.has_rows and (num_rows or not self._are_sinks_told):
            self._are_sinks_told = True
            for sink in self._sinks:
                sink.rows_came(self._rank, self._path)
        return num_rows

    def give_sinks(self, rows: Sequence[Row]) -> None:
        """Rows of `metrics.csv`: where the page has every row, for those who want the newest."""
        for sink in self._sinks:
            write = sink.write_newest if self._drain.has_rows else sink.write
            write(self._rank, rows)

    def has_all(self, publish: int) -> bool:
        """Whether the file has the rows up to this publish of the page."""
        return self._drain.has_all(publish)

    def num_lost_events(self, numbers: Sequence[int]) -> int:
        """How many messages were overwritten before those with these numbers, which are kept."""
        return self._drain.num_lost_events(numbers)

    def note_sent(self) -> None:
        """Keep for the next recorder how far the sinks are."""
        if notes := self._notes():
            self._drain.note(notes)

    def close(self) -> None:
        self._drain.close()

    def _notes(self) -> Mapping[str, str]:
        return {key: text for sink in self._sinks for key, text in sink.notes(self._rank).items()}
