"""The rows of a run, wherever they are: in its file of rows, or, as long as the recorder has not
written them there, in the ring of its page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import PageError, RowFileError
from ..page.reader import MetricsReader
from ..page.row_ring import publish_of
from ..page.schema import Metric
from ..runs.run_folder import Run
from ..runs.status import open_page
from .history import History
from .levels import FOLD, Piece, folded_cells, heads_of, pieces, spread_out
from .row_batch import (
    NEVER_WRITTEN,
    NO_CELLS,
    NO_ROWS,
    PUBLISH,
    SPAN,
    Cells,
    Floats,
    Integers,
    RowBatch,
    batch_of,
    cells_of,
)

# Heads [6, R] and values [3, M, R] of rows of a level, or [1, M, R] of level 0.
_Block = tuple[Integers, Floats]
_NO_BLOCK: _Block = NO_ROWS.heads, np.zeros((1, 0, 0))

if TYPE_CHECKING:  # SQLite is loaded once there is a file to read: not before the first frame
    from .row_file_reader import RowFileReader

MAX_ROWS = 4096  # of a history, about
MAX_VALUES, FEWEST_ROWS = 1 << 20, 64  # of one, where there are hundreds or thousands of metrics
NUM_SINGLE = 1024  # of the newest rows of a whole run
BATCH_ROWS = 1024
BATCH_BYTES = 1 << 18
_ATTEMPTS = 10


class Curves:
    """Reads the rows of one run: all of them as curves, a part more closely, or each in order.

    `history` and `closer` cost the same whatever the run's length: they read about `MAX_ROWS` rows
    of the level that has so many. Without a file of rows, as where there is no recorder, there are
    the rows of the ring and those that came since it was first looked at.
    """

    def __init__(
        self, path: Path | None, page: MetricsReader | None, *, max_rows: int = MAX_ROWS
    ) -> None:
        """`path` is where the file of rows is, or will be; neither it nor a page needs to be there.
        Where the file cannot be read, `problem` says why, and the rows are those of the ring.
        """
        self.problem = ""
        self.metrics: list[Metric] = []  # of the file, then those that only the page has
        self.num_lost = 0  # rows that were overwritten in the ring before anyone took them
        self._path, self._page, self._most = path, page, max_rows
        self._file: RowFileReader | None = None
        self._num_rows, self._last_in_file = 0, 0  # rows of the file; last publish of this page
        self._file_places = self._page_places = np.zeros(0, np.int64)
        self._newest = _NewestRows(page, max_rows) if page else None
        # What was read last of each level, for the whole run and for a closer look.
        self._blocks: dict[int, tuple[Piece, _Block]] = {}
        self._closer_blocks: dict[int, tuple[Piece, _Block]] = {}
        self._version: tuple[object, ...] = (None,)
        self._known_version: tuple[object, ...] = (None,)
        self._known = History()

    @classmethod
    @contextmanager
    def of_run(cls, run: Run, *, max_rows: int = MAX_ROWS) -> Iterator[Curves]:
        """The curves of `run` as long as the context lasts. Raises PageError where there is neither
        a file of rows nor a page that can be read.
        """
        page, error = None, None
        try:
            page = open_page(run)
        except PageError as problem:
            error = problem
        curves = cls(run.rows_path, page, max_rows=max_rows)
        try:
            curves.look()
            if page is None and curves._file is None:
                raise PageError(curves.problem or str(error))
            yield curves
        finally:
            curves.close()
            if page:
                page.detach()

    def close(self) -> None:
        """Let go of the file. The page is let go of by whoever opened it."""
        if self._file:
            self._file.close()
        self._file = None
        self._forget_blocks()

    def history(self) -> History:
        """The whole run: the newest rows one by one, those before them folded where there are more
        than `max_rows`. It is the same object as long as nothing was published. Raises PageError.
        """
        try:
            self.look()
            if self._version != self._known_version:
                single = min(NUM_SINGLE, self._max_rows)
                parts = pieces(1, self._num_rows, self._max_rows, single)
                self._known = self._joined(parts, True, self._blocks)
                self._known_version = self._version
        except RowFileError as error:
            self._forget_file(error)
            self._known = self._joined([], True, {})
        return self._known

    def closer(self, first_row: int, last_row: int) -> History:
        """The rows from `first_row` to `last_row`, in about `max_rows`: folded less than in
        `history`, if at all. A folded row that holds the first one is there as a whole. Raises
        PageError.
        """
        parts = []
        if first_row <= self._num_rows:
            parts = pieces(first_row, min(last_row, self._num_rows), self._max_rows)
        return self._joined(parts, last_row > self._num_rows, self._closer_blocks)

    def up_to(self, publish: int) -> History:
        """The newest rows up to a publish, one by one, at most `max_rows` of the file. Raises
        PageError.
        """
        self.look()
        last = self._file.row_up_to(publish) if self._file else 0
        has_newest = publish > self._last_in_file
        parts = pieces(max(1, last - self._max_rows + 1), last, self._max_rows) if last else []
        return self._joined(parts, has_newest, {}).until_publish(publish)

    def batches(self) -> Iterator[RowBatch]:
        """All rows, oldest first, some at a time; their places are those of `metrics`. Rows that
        come meanwhile may be missing. Raises PageError.
        """
        self.look()
        left = self._num_rows
        for batch in self._file.batches() if self._file else ():
            if left > 0:
                yield _placed(batch.part(slice(left)), self._file_places)
            left -= len(batch)
        if self._page:
            places = self._page_places
            records = _after(self._page.rows().records, self._last_in_file)
            if records:
                self.num_lost += publish_of(records[-1]) - self._last_in_file - len(records)
            for batch in _batches(records, len(places)):
                yield _placed(batch, places)

    def look(self) -> None:
        """Find what came since the last look. Raises PageError."""
        for _ in range(_ATTEMPTS):
            epoch, is_of_page = self._look_at_file()
            if self._newest is None:
                break
            self._newest.follow(self._last_in_file)
            first = self._newest.first_publish
            if not is_of_page and first:
                # Rows of a process before: the recorder drops those that the page does not follow.
                assert self._file
                self._num_rows = self._file.row_up_to(first - 1)
                self._forget_blocks()
            # Rows that the ring lost while the file was looked at are in the file by now.
            is_gap = is_of_page and first > self._last_in_file + 1
            if not (is_gap and self._file and self._file.last_publish() > self._last_in_file):
                break
        self._find_metrics()
        newest = self._newest.last_publish if self._newest else 0
        version = epoch, is_of_page, newest or self._num_rows, len(self.metrics)
        if (epoch, len(self.metrics)) != (self._version[0], self._version[-1]):
            self._forget_blocks()
        self._version = version

    def _look_at_file(self) -> tuple[int, bool]:
        """How often rows were dropped from the file, and whether the newest are of this page."""
        if self._file is None and self._path and self._path.exists():
            from .row_file_reader import RowFileReader

            try:
                self._file = RowFileReader(self._path)
                self.problem = ""
            except RowFileError as error:
                self.problem = str(error)
        self._last_in_file = self._num_rows = 0
        if self._file is None:
            return 0, True
        with self._file.one_moment():
            self._num_rows = self._file.num_rows()
            self.num_lost = self._file.num_lost()
            whose, epoch = self._file.info("page"), self._file.count("epoch")
            is_of_page = not self._page or whose in (None, str(self._page.header.identity))
            if is_of_page:
                self._last_in_file = self._file.last_publish()
            return epoch, is_of_page

    def _find_metrics(self) -> None:
        of_file = self._file.metrics() if self._file else []
        of_page = self._page.schema() if self._page else []
        by_name = {metric.name: metric for metric in (*of_file, *of_page)}
        self.metrics = list(by_name.values())
        places = {name: place for place, name in enumerate(by_name)}
        self._file_places = np.arange(len(of_file))
        self._page_places = np.array([places[metric.name] for metric in of_page], np.int64)

    @property
    def _max_rows(self) -> int:
        return _bounded(self._most, len(self.metrics))

    def _joined(
        self, parts: Sequence[Piece], has_newest: bool, known: dict[int, tuple[Piece, _Block]]
    ) -> History:
        """The rows of the file in `parts`, and those of the ring behind them."""
        blocks = []
        if self._file and parts:
            with self._file.one_moment():
                blocks = [self._block(self._file, piece, known) for piece in parts]
        if self._newest and has_newest:
            blocks += [self._newest_block(cells) for cells in reversed(self._newest.levels)]
        first_row = self._num_rows + 1
        if parts:
            first_row = (parts[0].first - 1) * FOLD ** parts[0].level + 1
        heads = np.concatenate([NO_ROWS.heads, *(heads for heads, _ in blocks)], axis=1)
        names = [metric.name for metric in self.metrics]
        return History(names, heads, [values for _, values in blocks], first_row)

    def _block(
        self, file: RowFileReader, piece: Piece, read: dict[int, tuple[Piece, _Block]]
    ) -> _Block:
        """Rows of the file; what was read for the last piece of this level is not read again."""
        level, first, last = piece
        before, known = read.get(level, (Piece(level, first, first - 1), _NO_BLOCK))
        if not before.first <= first <= before.last + 1 or before.last > last:
            before, known = Piece(level, first, first - 1), _NO_BLOCK
        heads, values = (
            known[0][:, first - before.first :],
            known[1][:, :, first - before.first :],
        )
        if last > before.last:
            batches = file.rows(level, before.last + 1, last)
            new_heads = heads_of(batches)
            new_values = spread_out(batches, level, self._file_places, len(self.metrics))
            heads = np.concatenate([heads, new_heads], axis=1)
            values = np.concatenate([values, new_values], axis=2) if values.size else new_values
        read[level] = piece, (heads, values)
        return heads, values

    def _newest_block(self, cells: Cells) -> _Block:
        is_known = cells.places < len(self._page_places)
        places = self._page_places[cells.places[is_known]]
        values = np.full((len(cells.values), len(self.metrics), len(cells)), NEVER_WRITTEN)
        values[:, places, cells.rows[is_known]] = cells.values[:, is_known]
        return cells.heads, values

    def _forget_blocks(self) -> None:
        self._blocks, self._closer_blocks = {}, {}

    def _forget_file(self, error: RowFileError) -> None:
        """Do without a file that is damaged; it may be another one at the next look."""
        self.close()
        self.problem, self._num_rows, self._version = str(error), 0, (None,)


def _bounded(max_rows: int, num_values: int) -> int:
    """At most `max_rows`, fewer where a row has many values."""
    return min(max_rows, max(FEWEST_ROWS, MAX_VALUES // max(1, num_values)))


def _after(records: list[bytes], publish: int) -> list[bytes]:
    return records[bisect_right(records, publish, key=publish_of) :]


def _batches(records: Sequence[bytes], num_metrics: int) -> Iterator[RowBatch]:
    size = _bounded(BATCH_ROWS, 8 * num_metrics)
    for begin in range(0, len(records), size):
        yield batch_of(records[begin : begin + size])


def _placed(batch: RowBatch, places: Integers) -> RowBatch:
    """`batch` with its metrics at `places`; those that came later are left out."""
    is_known = batch.places < len(places)
    return RowBatch(batch.heads, places[batch.places[is_known]], batch.values[is_known])


class _NewestRows:
    """Rows of a page's ring that are not in its file yet. Where they are many, as where there is no
    recorder, the older ones are folded.
    """

    def __init__(self, page: MetricsReader, max_rows: int) -> None:
        self._page, self._most = page, max_rows
        self._begin()

    def _begin(self) -> None:
        self._position = 0
        self.levels = [NO_CELLS]  # level 0 first
        self.last_publish = 0

    def follow(self, last_in_file: int) -> None:
        """Take what came since the last time, and drop what the file has by now."""
        if self.first_publish <= last_in_file:
            if len(self.levels) > 1:
                self._begin()
            rows = self.levels[0]
            kept_from = int(np.searchsorted(rows.heads[PUBLISH], last_in_file, side="right"))
            self.levels[0] = rows.part(kept_from, len(rows))
        ring = self._page.rows(self._position)
        self._position = ring.position
        # Each of a few levels may have twice as many rows, and three values of each metric.
        num_metrics = len(self._page.schema())
        most = _bounded(self._most, 8 * num_metrics)
        records = _after(ring.records, max(last_in_file, self.last_publish))
        ends = np.cumsum(np.fromiter(map(len, records), np.int64))
        edges = np.searchsorted(ends, np.arange(0, sum(ends[-1:]), BATCH_BYTES)).tolist()
        for begin, end in pairwise(sorted({*edges, len(records)})):
            self.levels[0] = self.levels[0].followed_by(cells_of(records[begin:end]))
            self.last_publish = publish_of(records[end - 1])
            self._fold(most)

    def _fold(self, most: int) -> None:
        """Leave `most` rows of each level that has twice as many, and fold those before them."""
        for level, rows in enumerate(self.levels):
            if len(rows) < 2 * most:
                return
            full = (len(rows) - most) // FOLD * FOLD
            newer = folded_cells(rows.part(0, full))
            self.levels[level] = rows.part(full, len(rows))
            if level + 1 < len(self.levels):
                newer = self.levels[level + 1].followed_by(newer)
            self.levels[level + 1 : level + 2] = [newer]

    @property
    def first_publish(self) -> int:
        """The publish of the oldest row, 0 where there are none."""
        oldest = next((rows for rows in reversed(self.levels) if len(rows)), NO_CELLS)
        return int(oldest.heads[PUBLISH, 0]) - int(oldest.heads[SPAN, 0]) + 1 if len(oldest) else 0
