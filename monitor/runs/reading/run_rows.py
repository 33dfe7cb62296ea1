"""Every row of a run for its charts: all of it as points, and a part of it in more detail.

Rows are read a while at each look, so that neither a long run nor a slow disk holds up what is
shown meanwhile: the history of the page.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....shared import History, MetricsReader
from ...charts.point_fold import FoldedPoints, PointFold, Points, Rows
from .row_cursor import MetricPlaces

if TYPE_CHECKING:  # SQLite is loaded once there is a file to read: not before the first frame
    from ....shared.rows.row_file_reader import RowFileReader
    from .row_cursor import RowCursor

LOAD_S = 0.1  # of reading at each look
MOST_TIMES_WIDER = 3  # what is held in detail may be wider than what is shown
FIELDS = 5  # of a row's head: publish, wall, elapsed, iteration, env steps


class Wanted:
    """What of a run is looked at closely: rows from one to another; the screen says so and the
    poller's thread takes it.
    """

    def __init__(self) -> None:
        self.rows: tuple[int, int] | None = None

    def add(self, first: int, last: int) -> None:
        rows = self.rows
        self.rows = (min(first, rows[0]), max(last, rows[1])) if rows else (first, last)


@dataclass(frozen=True, eq=False)
class RowPoints:
    """The points of all metrics as of one look; of rows `detail_rows` in more detail."""

    whole: FoldedPoints
    places: Mapping[str, int]
    wanted: Wanted
    detail: FoldedPoints | None = None
    detail_rows: tuple[int, int] = (0, 0)
    last_publish: int | None = None

    def points(self, name: str, step_metric: str = "") -> Points | None:
        """Of metric `name`, from its first row to its last; None where it has none."""
        return self._of(self.whole, name, step_metric)

    def closer(self, points: Points, name: str, step_metric: str, seen: Any) -> Points:
        """`points` in more detail where those that are `seen`, flags [P], are not single rows. What
        is not at hand is asked for, and there at a later look.
        """
        if points.span == 1 or not seen.any():
            return points
        first, last = np.flatnonzero(seen)[[0, -1]]
        begin = int(points.row[first - 1]) + 1 if first else 1
        end = int(points.row[last])
        self.wanted.add(begin, end)
        if self.detail is None or not self.detail_rows[0] <= begin <= end <= self.detail_rows[1]:
            return points
        detail = self._of(self.detail, name, step_metric)
        return points if detail is None or detail.span >= points.span else detail

    def until(self, publish: int) -> RowPoints:
        """As it was when `publish` was the newest."""
        return replace(self, last_publish=publish)

    def _of(self, folded: FoldedPoints, name: str, step_metric: str) -> Points | None:
        place = self.places.get(name)
        if place is None:
            return None
        points = folded.points(place, self.places.get(step_metric, -1))
        if points is not None and self.last_publish is not None:
            points = points.until(self.last_publish)
        return points


class RunRows:
    """Reads the rows of one page and of the file beside it; one for each page."""

    def __init__(self, path: Path, page: MetricsReader) -> None:
        """`path` is where the file is, or will be."""
        self._path, self._page = path, page
        self.is_loading = True
        self._file: RowFileReader | None = None
        self._wanted = Wanted()
        self._epoch: Any = None
        self._known: RowPoints | None = None
        self._step_metrics: dict[str, str] | None = None  # until it begins

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def look(self, history: History, load_s: float = LOAD_S) -> RowPoints | None:
        """The rows as points; None while they are being read, and where the history has each row
        itself. Raises PageError when the file cannot be read.
        """
        if has_each_row(history):
            self.is_loading = False
            return None
        self._look_at_file()
        step_metrics = {m.name: m.step_metric for m in self._page.schema() if m.step_metric}
        if step_metrics != self._step_metrics:
            self._begin_anew(step_metrics)
        deadline = time.monotonic() + load_s
        is_new = self._whole.load(deadline, history)
        self.is_loading = not self._whole.is_loaded
        if self.is_loading or not self._whole.fold.num_rows:
            return None
        is_new |= self._load_detail(deadline)
        self.is_loading = bool(self._detail and not self._detail.is_loaded)
        if is_new or self._known is None:
            self._known = self._points()
        return self._known

    def _look_at_file(self) -> None:
        """Open it once it is there; begin anew when rows were taken out of it."""
        if self._file is None and self._path.exists():
            from ....shared.rows.row_file_reader import RowFileReader

            self._file = RowFileReader(self._path)
            self._epoch = self._file.info("epoch")
            self._step_metrics = None
        if self._file and self._file.info("epoch") != self._epoch:
            self._epoch = self._file.info("epoch")
            self._step_metrics = None

    def _begin_anew(self, step_metrics: dict[str, str]) -> None:
        self._step_metrics = step_metrics
        self._places = MetricPlaces()
        self._steps = [self._places.of(name) for name in dict.fromkeys(step_metrics.values())]
        self._whole = self._part(1, None)
        self._detail: _Part | None = None

    def _part(self, first: int, last: int | None) -> _Part:
        from .row_cursor import RowCursor

        fold = PointFold(len(self._page.schema()), self._steps)
        begin = first
        if self._file and first > 1:
            begin = min(first, self._file.num_rows() + 1)
        return _Part(fold, RowCursor(self._file, self._page, self._places, begin), first, last,
                     self._places)  # fmt: skip

    def _load_detail(self, deadline: float) -> bool:
        """Read more of what is looked at closely; whether there is anything new to show."""
        rows, self._wanted.rows = self._wanted.rows, None
        if rows and not (self._detail and self._detail.serves(*rows)):
            width = rows[1] - rows[0] + 1
            last = rows[1] + width // 2
            newest = self._whole.newest_row
            self._detail = self._part(max(1, rows[0] - width // 2), last if last < newest else None)
        return bool(self._detail and self._detail.load(deadline) and self._detail.is_loaded)

    def _points(self) -> RowPoints:
        whole = self._whole.fold.folded()
        points = RowPoints(whole, self._places.by_name(), self._wanted)
        part = self._detail
        if part is None or not part.is_loaded:
            return points
        last = part.last or self._whole.newest_row
        return replace(points, detail=part.fold.folded(), detail_rows=(part.first, last))


class _Part:
    """Rows from `first` to `last`, or to whatever is newest, read little by little."""

    def __init__(
        self, fold: PointFold, cursor: RowCursor, first: int, last: int | None, places: MetricPlaces
    ) -> None:
        self.fold, self.first, self.last = fold, first, last
        self._cursor, self._places = cursor, places
        self.is_loaded = False
        self.newest_row = 0

    def serves(self, first: int, last: int) -> bool:
        """Whether it holds these rows, and not so many more that they are too coarse in it."""
        end = self.last or max(self.newest_row, last)
        is_fine = end - self.first < MOST_TIMES_WIDER * (last - first + 1)
        return self.first <= first and last <= end and is_fine

    def load(self, deadline: float, history: History | None = None) -> bool:
        """Read until the deadline or the end; whether any rows came. Before the first row of all
        stands what only the `history` has.
        """
        before = self.fold.num_rows
        if self.last and self.newest_row >= self.last:
            return False
        with closing(self._cursor.__iter__()) as found:
            for numbers, batch in found:
                if history is not None and not self.fold.num_rows and batch.publish[0] > 1:
                    self._take_history(history, int(batch.publish[0]))
                is_wanted = numbers >= self.first
                if self.last:
                    is_wanted &= numbers <= self.last
                heads = np.concatenate([batch.heads[:FIELDS], numbers[None, :]])
                rows = Rows(heads[:, is_wanted], batch.places, batch.values[:, is_wanted])
                self.fold.add(rows)
                self.newest_row = int(numbers[-1])
                if self.last and self.newest_row >= self.last:
                    break
                if time.monotonic() >= deadline:
                    return self.is_loaded
        is_first, self.is_loaded = not self.is_loaded, True
        return is_first or self.fold.num_rows > before

    def _take_history(self, history: History, publish: int) -> None:
        history = history.until(int(np.searchsorted(history.publish, publish)))
        if not len(history):
            return
        heads = np.zeros((FIELDS + 1, len(history)), np.int64)
        heads[0], heads[3], heads[4] = history.publish, history.iteration, history.env_steps
        heads[1], heads[2] = 1e9 * history.wall_s, 1e9 * history.elapsed_s
        series = np.stack([np.stack(history.series(name)) for name in history.names])
        places = self._places.of_all(history.names)
        low, mean, high = series.transpose(1, 0, 2)
        self.fold.add(Rows(heads, places, np.ascontiguousarray(mean), np.stack([low, high])))


def has_each_row(history: History) -> bool:
    """Whether no two rows of a run were folded yet."""
    return not len(history) or (history.publish[0] == 1 and history.num_publishes[0] == 1)
