"""operant's errors, all derived from `operant.OperantError`. Each has a text of one line: the key,
its value and the rule.
"""

from .shared.errors import (
    CheckpointError,
    ConfigError,
    OperantError,
    PageError,
    RunFolderError,
    RunNotFoundError,
    SweepNotFoundError,
    UsageError,
)

__all__ = [
    "CheckpointError", "ConfigError", "OperantError", "PageError", "RunFolderError",
    "RunNotFoundError", "SweepNotFoundError", "UsageError",
]  # fmt: skip
