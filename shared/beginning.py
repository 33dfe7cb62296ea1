"""What a resumed run keeps of its former page: everything up to the checkpoint it resumes from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .errors import PageError
from .header import Header
from .reader import MetricsReader
from .schema import Metric


@dataclass(frozen=True)
class Beginning:
    """A former page and the publish number up to which it still holds: the one asked for, or the
    newest of a copy that was made before it.

    `monotonic_ns` is the time of that publish and `latest` the last value of each metric then.
    """

    page: bytes
    publish: int
    header: Header
    metrics: list[Metric]
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
            page = os.pread(reader.fd, reader.header.layout.page_bytes, 0)
        except (PageError, OSError):
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
        return cls(page, held, reader.header, metrics, monotonic_ns, latest)
