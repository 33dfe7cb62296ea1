"""Sinks: where the recorded rows go beside the files, each in a thread that may hang or fail."""

from __future__ import annotations

import importlib
import queue
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...shared import Metric
from ...shared.rows.row_batch import RowBatch
from ...shared.rows.row_file_reader import RowFileReader
from ...shared.runs.recorder_process import RecorderSettings, lacking
from ...shared.runs.run_folder import Run
from .rows import Row

CLOSE_PATIENCE_S = 20.0


class Sink(Protocol):
    """One place that takes rows. It is an `EverySink` or a `NewestSink`."""

    def close(self, is_success: bool) -> None:
        """The run has ended, and whether well; or the recorder ends before it."""


@runtime_checkable
class EverySink(Sink, Protocol):
    """Takes every row."""

    def take(self, batch: RowBatch, metrics: list[Metric]) -> None:
        """Rows that follow those before; their places are those of `metrics`."""


class NewestSink(Sink, Protocol):
    """Takes the newest row, again and again."""

    def take_newest(self, row: Row) -> None: ...


class SinkFeed:
    """Remembers how far one sink is, as the number of the last row that it was given."""

    def __init__(self, path: Path, name: str) -> None:
        """`name` is the sink's: a former recorder may have noted how far it was."""
        self._path, self._key = path, f"sent to {name}"
        self._row: int | None = None
        self._epoch = 0

    def give(self, sink: EverySink) -> None:
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
                sink.take(batch, file.metrics())
                self._row += len(batch)

    def note(self) -> dict[str, str]:
        """Notes that the file keeps for the next recorder; empty before the first row."""
        return {} if self._row is None else {self._key: f"{self._epoch} {self._row}"}


def _parsed(noted: Any) -> tuple[int, int]:
    try:
        epoch, row = str(noted).split()
        return int(epoch), max(0, int(row))
    except ValueError:
        return 0, 0


class SinkThread:
    """Feeds one sink. An error there is reported once and ends only this sink."""

    def __init__(
        self, name: str, open_sink: Callable[[], Sink], complain: Callable[[str], None]
    ) -> None:
        self._name, self._open_sink, self._complain = name, open_sink, complain
        self._work: queue.Queue[Callable[[Sink], None] | None] = queue.Queue()
        self._sink_feed: SinkFeed | None = None  # from the first row on
        self._is_due = False  # whether rows are in the queue, once: a sink may hang
        self._thread = threading.Thread(target=self._feed, name=name, daemon=True)
        self._thread.start()

    def rows_came(self, path: Path, newest: Row) -> None:
        """There are more rows in the file, of which `newest` is the last."""
        feed = self._sink_feed = self._sink_feed or SinkFeed(path, self._name)
        self._newest = newest
        if self._is_due:
            return
        self._is_due = True

        def give(sink: Any) -> None:
            self._is_due = False
            if isinstance(sink, EverySink):
                feed.give(sink)
            else:
                sink.take_newest(self._newest)

        self._work.put(give)

    def notes(self) -> dict[str, str]:
        """How far the sink is, for the next recorder."""
        return self._sink_feed.note() if self._sink_feed else {}

    def close(self, is_success: bool) -> None:
        """Wait for the sink to take what it was given, but not for ever."""
        self._work.put(lambda sink: sink.close(is_success))
        self._work.put(None)
        self._thread.join(CLOSE_PATIENCE_S)
        if self._thread.is_alive() and self._sink_feed:
            name = self._name
            self._complain(f"{name} is slow: `operant record --to {name}` sends it the rest")

    def _feed(self) -> None:
        try:
            sink = self._open_sink()
            while work := self._work.get():
                work(sink)
        # Whatever a foreign library raises: the run goes on being recorded.
        except BaseException as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            self._complain(f"{self._name}: {reason}; the run is recorded without it")


def open_sinks(
    run: Run, settings: RecorderSettings, complain: Callable[[str], None]
) -> list[SinkThread]:
    """A thread for each sink whose package is installed; `complain` gets the others."""
    sinks = []
    for name in dict.fromkeys(settings.to):
        missing = lacking(name)
        if missing:
            complain(missing)
            continue
        sinks.append(SinkThread(name, partial(_open_sink, name, run, settings), complain))
    return sinks


def _open_sink(name: str, run: Run, settings: RecorderSettings) -> Sink:
    """Open sink `name`, whose library is imported now."""
    module: Any = importlib.import_module(f".{name}_sink", __package__)
    sink: Sink = module.open_sink(run, settings)
    return sink
