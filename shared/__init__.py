"""The memory between trainer and monitor: pages, runs and liveness. Imports neither torch nor
textual.

`page/` is the metrics file (layout.py, writer.py, reader.py; see docs/metrics-page.md), `rows/` the
rows on disk, `runs/` the run folders, `console/` what runs print, `processes/` locks and liveness,
`episodes/` recorded episodes, `text/` names and numbers as text, `integrations/` the run of other
libraries and training loops.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import CheckpointError as CheckpointError
from .errors import ConfigError as ConfigError
from .errors import NoPageError as NoPageError
from .errors import OperantError as OperantError
from .errors import PageError as PageError
from .errors import RunFolderError as RunFolderError
from .errors import RunNotFoundError as RunNotFoundError
from .errors import UsageError as UsageError

if TYPE_CHECKING:
    from .page.events import Event as Event
    from .page.reader import MetricsReader as MetricsReader
    from .page.reader import Snapshot as Snapshot
    from .page.schema import Metric as Metric
    from .page.writer import MetricsWriter as MetricsWriter
    from .rows.history import History as History
    from .runs.outcome import Outcome as Outcome

# The modules of names that are imported at their first use: `operant --help` needs no numpy.
_HOMES = {
    "Event": "page.events",
    "History": "rows.history",
    "Metric": "page.schema",
    "MetricsReader": "page.reader",
    "MetricsWriter": "page.writer",
    "Outcome": "runs.outcome",
    "Snapshot": "page.reader",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
