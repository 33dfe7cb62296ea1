"""The memory between trainer and monitor: pages, runs and liveness. Never torch or textual.

A page is laid out in `layout.py`, written by `writer.py`, read by `reader.py`, and told of in
docs/metrics-page.md; a run on disk is `run_folder.py`, a process's part in it `session.py`, who is
alive `lock.py`, and all of that together `status.py`. `integrations/` are training loops of others.
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
    from .events import Event
    from .history import History, Series
    from .outcome import Outcome
    from .reader import MetricsReader, Snapshot
    from .schema import Metric
    from .writer import MetricsWriter

# Where each public name lives. They are imported at their first use: `operant --help` needs none.
_HOMES = {
    "CheckpointError": "errors",
    "ConfigError": "errors",
    "Event": "events",
    "History": "history",
    "Metric": "schema",
    "MetricsReader": "reader",
    "MetricsWriter": "writer",
    "NoPageError": "errors",
    "NoRoomError": "errors",
    "OperantError": "errors",
    "Outcome": "outcome",
    "PageError": "errors",
    "RunFolderError": "errors",
    "RunNotFoundError": "errors",
    "Series": "history",
    "Snapshot": "reader",
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
