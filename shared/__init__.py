"""The memory between trainer and monitor: pages, runs and liveness. Never torch or textual.

A page is laid out in `page/layout.py`, written by `page/writer.py`, read by `page/reader.py`; see
docs/metrics-page.md. `runs/` is runs on disk, `console/` keeps what they print, `processes/` says
who is alive, `rows/` keeps all rows, `episodes/` and `text/` are what their names say,
`integrations/` training loops of others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        CheckpointError,
        ConfigError,
        NoPageError,
        NoRoomError,
        OperantError,
        PageError,
        RunFolderError,
        RunNotFoundError,
        UsageError,
    )
    from .page.events import Event
    from .page.reader import MetricsReader, Snapshot
    from .page.schema import Metric
    from .page.writer import MetricsWriter
    from .rows.history import History, Series
    from .runs.outcome import Outcome

# Where each public name lives. They are imported at their first use: `operant --help` needs none.
_HOMES = {
    "CheckpointError": "errors",
    "ConfigError": "errors",
    "Event": "page.events",
    "History": "rows.history",
    "Metric": "page.schema",
    "MetricsReader": "page.reader",
    "MetricsWriter": "page.writer",
    "NoPageError": "errors",
    "NoRoomError": "errors",
    "OperantError": "errors",
    "Outcome": "runs.outcome",
    "PageError": "errors",
    "RunFolderError": "errors",
    "RunNotFoundError": "errors",
    "Series": "rows.history",
    "Snapshot": "page.reader",
    "UsageError": "errors",
}

__all__ = [
    "CheckpointError",
    "ConfigError",
    "Event",
    "History",
    "Metric",
    "MetricsReader",
    "MetricsWriter",
    "NoPageError",
    "NoRoomError",
    "OperantError",
    "Outcome",
    "PageError",
    "RunFolderError",
    "RunNotFoundError",
    "Series",
    "Snapshot",
    "UsageError",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
