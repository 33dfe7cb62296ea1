"""The rows that an export writes: those of the run's file and page, after the page's history."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from ...shared import History, Metric, MetricsReader, PageError
from ...shared.page.history import Floats, Integers
from ...shared.page.row_ring import publish_of
from ...shared.rows.row_batch import ELAPSED_NS, HEADS, RowBatch, batch_of
from ...shared.rows.row_blob import CHUNK_ROWS
from ...shared.rows.row_file_reader import RowFileReader
from ...shared.runs.run_folder import Run
from ...shared.runs.status import open_page


class ExportedRows:
    """The rows of a run, oldest first, in batches whose places are those of `metrics`.

    Rows that were overwritten in the page before anyone took them are there as the means that its
    history has, as far as these are older than all others. `num_rows`, and `num_lost` of which not
    even a mean is left, hold once all batches were taken.
    """

    def __init__(self, run: Run, spread: bool = False) -> None:
        """With `spread`, each metric is followed by its lowest and its highest value in the row.

        Where the file of rows cannot be read, `problem` says why, and the rows are those that the
        page still has. Raises PageError when there is neither such a file nor a page.
        """
        self.num_rows = self.num_lost = 0
        self._spread = spread
        self.problem = ""
        self._file: RowFileReader | None = None
        self._page: MetricsReader | None = None
        known: list[Metric] = []
        try:
            if run.rows_path.exists():
                self._file = RowFileReader(run.rows_path)
                known += self._file.metrics()
        except PageError as error:
            self._file, self.problem = None, str(error)
        try:
            self._page = open_page(run)
        except PageError as error:
            if self._file is None:
                raise PageError(self.problem or str(error)) from None
        known += self._page.schema() if self._page else []
        by_name = {metric.name: metric for metric in known}
        self._places = {name: place for place, name in enumerate(by_name)}
        self.metrics = list(by_name.values())
        if spread:
            self.metrics = [each for metric in self.metrics for each in _with_spread(metric)]

    def close(self) -> None:
        if self._file:
            self._file.close()
        if self._page:
            self._page.detach()

    def __iter__(self) -> Iterator[RowBatch]:
        for batch in self._all():
            self.num_rows += len(batch)
            yield batch

    def _all(self) -> Iterator[RowBatch]:
        """Places in the file are those in `metrics`; places that came later are left out."""
        rows = self._single_rows()
        first = next(rows, None)
        yield from self._history_before(first)
        if first is not None:
            yield self._spread_out(first)
        for batch in rows:
            yield self._spread_out(batch)

    def _single_rows(self) -> Iterator[RowBatch]:
        last, of_page = 0, None
        if self._file:
            for batch in self._file.batches():
                # At the same moment as the rows: the recorder goes on meanwhile.
                last = self._file.count("last_publish")
                of_page, self.num_lost = self._file.info("page"), self._file.num_lost()
                yield batch
        # Of another process than the file's last rows: which of them hold, the recorder decides.
        if self._page and of_page in (None, str(self._page.header.identity)):
            yield from self._rows_of_page(self._page, last)

    def _rows_of_page(self, page: MetricsReader, last: int) -> Iterator[RowBatch]:
        """What no recorder has taken yet."""
        records = [record for record in page.rows().records if publish_of(record) > last]
        if records:
            self.num_lost += publish_of(records[-1]) - last - len(records)
        places = self._places_of([metric.name for metric in page.schema()])
        for begin in range(0, len(records), CHUNK_ROWS):
            batch = batch_of(records[begin : begin + CHUNK_ROWS])
            yield replace(batch, places=places[batch.places])

    def _places_of(self, names: list[str]) -> Integers:
        return np.array([self._places.get(name, len(self._places)) for name in names], np.int64)

    def _spread_out(self, batch: RowBatch) -> RowBatch:
        """A single row's lowest and highest value are its value."""
        is_known = batch.places < len(self._places)
        places, values = batch.places[is_known], batch.values[is_known]
        if self._spread:
            places = (3 * places[:, None] + np.arange(3)).reshape(-1)
            values = np.repeat(values, 3, axis=0)
        return RowBatch(batch.heads, places, values)

    def _history_before(self, first: RowBatch | None) -> Iterator[RowBatch]:
        """The page's history before the first single row, all of it where there is none."""
        if self._page is None or (first is not None and first.publish[0] == 1):
            return
        history = self._page.history()
        if first is not None:
            history = history.until(int(np.searchsorted(history.publish, first.publish[0])))
            self.num_lost = max(0, self.num_lost - int(history.num_publishes.sum()))
        if len(history):
            yield self._batch_of_history(history)

    def _batch_of_history(self, history: History) -> RowBatch:
        heads = np.empty((HEADS, len(history)), np.int64)
        heads[0] = history.publish
        heads[1] = (history.wall_s * 1e6).round().astype(np.int64) * 1000
        heads[2] = (history.elapsed_s * 1e9).round().astype(np.int64)
        heads[3:] = history.iteration, history.env_steps, history.num_publishes
        places, values = self._places_of(history.names), []
        for name in history.names:
            low, mean, high = history.series(name)
            values += [mean, low, high] if self._spread else [mean]
        if self._spread:
            places = (3 * places[:, None] + np.arange(3)).reshape(-1)
        is_known = places < len(self.metrics)
        stacked = np.array(values, np.float64).reshape(len(values), len(history))
        return RowBatch(heads, places[is_known], stacked[is_known])


def _with_spread(metric: Metric) -> list[Metric]:
    return [metric, *(replace(metric, name=f"{metric.name}.{end}") for end in ("min", "max"))]


def columns_of(run: Run, names: Collection[str]) -> dict[str, Floats]:
    """The metrics of a run among `names`, with `env_steps` and `elapsed_s`: one number per row, NaN
    in rows without the metric.
    """
    rows = ExportedRows(run)
    try:
        parts = list(_columns(rows, names))
    finally:
        rows.close()
    return {
        name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else {})
    }


def _columns(rows: ExportedRows, names: Collection[str]) -> Iterator[dict[str, Floats]]:
    wanted = [(place, each.name) for place, each in enumerate(rows.metrics) if each.name in names]
    for batch in rows:
        values = np.full((len(rows.metrics), len(batch)), np.nan)
        values[batch.places] = batch.values
        yield {
            **{name: values[place].copy() for place, name in wanted},
            "env_steps": batch.env_steps.astype(np.float64),
            "elapsed_s": batch.heads[ELAPSED_NS] / 1e9,
        }
