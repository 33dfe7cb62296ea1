"""What a stream sends of the rows of a run: see `mirrored_rows.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...shared.page.reader import MetricsReader
from ...shared.page.row_ring import publish_of
from ...shared.page.schema import Metric
from ...shared.rows.curves import FEWEST_ROWS, MAX_ROWS, MAX_VALUES
from ...shared.rows.levels import FOLD, NUM_LEVELS
from ...shared.rows.row_batch import batch_of
from ...shared.rows.row_blob import encoded, parts
from ...shared.rows.row_file_reader import RowFileReader
from .changed_files import Pieces
from .frames import ROWS_FILE


def most_rows(num_metrics: int) -> int:
    """How many of the newest rows of each level a mirror has: as many as one history shows, so
    that some level reaches back to the first row.
    """
    return min(MAX_ROWS, max(FEWEST_ROWS, MAX_VALUES // max(1, num_metrics))) + FOLD


class SentRows:
    """The newest rows of each level of the file, coarse ones first, then the rows of the page's
    ring as they come. It begins anew with another page, and where the ring has lost some.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._page: object = None
        self._last = self._position = 0  # publish that was sent last, where in the ring
        self._schema: list[Metric] = []

    def pieces(self, page: MetricsReader) -> Pieces:
        """Raises PageError where page or file cannot be read."""
        ring = page.rows(self._position)
        records = [record for record in ring.records if publish_of(record) > self._last]
        has_gap = bool(records and publish_of(records[0]) > self._last + 1)
        if page.header.identity != self._page or (has_gap and self._path.exists()):
            yield from self._begin(page)
            ring = page.rows()
            records = [record for record in ring.records if publish_of(record) > self._last]
        if self._page is None:
            return
        schema = page.schema()
        if schema != self._schema:
            self._schema = schema
            yield _piece("schema", _described(schema))
        self._position = ring.position
        if records:
            self._last = publish_of(records[-1])
            for batch in parts(batch_of(records)):
                yield _piece("rows", encoded(batch))

    def _begin(self, page: MetricsReader) -> Pieces:
        """All of the file that is sent, at one moment."""
        identity = page.header.identity
        self._page, self._last = identity, 0
        notes: dict[str, Any] = {"page": str(identity), "last_publish": 0, "num_lost": 0}
        self._schema = page.schema()
        if not self._path.exists():
            yield _piece("begin", _described([]))
            yield _piece("schema", _described(self._schema, notes))
            return
        file = RowFileReader(self._path)
        try:
            with file.one_moment():
                if file.info("page") not in (None, str(identity)):
                    self._page = None  # the recorder decides which rows of a former page hold
                    return
                metrics, num_rows = file.metrics(), file.num_rows()
                self._last = notes["last_publish"] = file.last_publish()
                notes["num_lost"] = file.num_lost()
                yield _piece("begin", _described(metrics))
                for level in range(NUM_LEVELS - 1, -1, -1):
                    last = num_rows // FOLD**level
                    first = max(1, last - most_rows(len(metrics)) + 1)
                    for first_row, data in file.blobs(level, first, last):
                        yield _piece("blob", data, level=level, at=first_row)
            yield _piece("schema", _described(self._schema, notes))
        finally:
            file.close()


def _piece(part: str, data: bytes, **more: int) -> tuple[dict[str, Any], bytes]:
    return {"file": ROWS_FILE, "part": part, **more}, data


def _described(metrics: Sequence[Metric], notes: dict[str, Any] | None = None) -> bytes:
    return json.dumps({"metrics": list(map(asdict, metrics)), **(notes or {})}).encode()
