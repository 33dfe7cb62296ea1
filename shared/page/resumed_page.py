"""What a resumed run keeps of its former page: everything up to the checkpoint it resumes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import PageError
from .events import Event
from .header import Header
from .history_level import LevelRows
from .reader import MetricsReader
from .row_ring import records_until
from .schema import Metric


@dataclass(frozen=True)
class Beginning:
    """A former page and the publish number up to which it still holds: the one asked for, or the
    newest of a copy that was made before it.

    `levels` are the rows of its history and `rows` the records of its ring, which may not be on
    disk yet; `monotonic_ns` is the time of that publish and `latest` the last value of each metric
    then.
    """

    publish: int
    header: Header
    metrics: list[Metric]
    levels: list[LevelRows]
    events: list[Event]
    rows: list[bytes]
    monotonic_ns: int
    latest: dict[str, float]

    @classmethod
    def read(cls, path: Path, publish: int) -> Beginning | None:
        """None when the page at `path` cannot be read or holds nothing up to `publish`."""
        try:
            reader = MetricsReader.attach(path)
        except PageError:
            return None
        try:
            metrics = reader.schema()
            history = reader.history()
            levels, events = reader.history_rows(), reader.events()
            rows = records_until(reader.rows().records, publish)
        except PageError:
            return None
        finally:
            reader.detach()
        kept = history.publish <= publish
        if not kept.any():
            return None
        latest = {}
        for metric in metrics:
            mean = history.series(metric.name).mean[kept]
            written = mean[mean == mean]
            if len(written):
                latest[metric.name] = float(written[-1])
        monotonic_ns = int(history.elapsed_s[kept][-1] * 1e9)
        held = min(publish, int(history.publish[-1]))
        return cls(held, reader.header, metrics, levels, events, rows, monotonic_ns, latest)
