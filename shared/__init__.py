"""The memory between trainer and monitor: pages, runs and liveness. Never torch or textual."""

from .errors import (
    CheckpointError,
    ConfigError,
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

__all__ = [
    "CheckpointError",
    "ConfigError",
    "Event",
    "History",
    "Metric",
    "MetricsReader",
    "MetricsWriter",
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
