"""Gives a sink every row of one rank, from the file in which the recorder keeps them: a slow sink
holds up nobody, and what it has not taken yet takes no memory.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from ...shared import Metric
from ...shared.row_file_reader import RowFileReader
from ...shared.rows import RowBatch


class BatchTaker(Protocol):
    """A sink that takes every row."""

    def take(self, rank: int, batch: RowBatch, metrics: list[Metric]) -> None:
        """Rows that follow those before; their places are those of `metrics`."""


class SinkFeed:
    """Remembers how far one sink is, as the number of the last row that it was given."""

    def __init__(self, path: Path, rank: int, name: str) -> None:
        """`name` is the sink's: a former recorder may have noted how far it was."""
        self._path, self._rank, self._key = path, rank, f"sent to {name}"
        self._row: int | None = None
        self._epoch = 0

    def give(self, sink: BatchTaker) -> None:
        """All rows that it has not. Raises PageError when the file cannot be read."""
        with closing(RowFileReader(self._path)) as file:
            if self._row is None:
                self._epoch, self._row = _parsed(file.info(self._key))
            epoch = file.count("epoch")
            if epoch != self._epoch:  # rows were dropped, as the run does them again
                # Another thread notes both, at any moment: the row first, which is right of either.
                self._row = min(self._row, file.count("kept_rows"))
                self._epoch = epoch
            # Batch by batch: what is being read keeps the file from being tidied up.
            while (batch := next(file.batches(self._row + 1), None)) is not None:
                sink.take(self._rank, batch, file.metrics())
                self._row += len(batch)

    def note(self) -> dict[str, str]:
        """What the file should keep for the next recorder; nothing before the first row."""
        return {} if self._row is None else {self._key: f"{self._epoch} {self._row}"}


def _parsed(noted: Any) -> tuple[int, int]:
    try:
        epoch, row = str(noted).split()
        return int(epoch), max(0, int(row))
    except ValueError:
        return 0, 0
