"""operant: a reinforcement-learning trainer, a monitor, and the memory between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .shared import MetricsReader, MetricsWriter

__all__ = ["MetricsReader", "MetricsWriter"]


def __getattr__(name: str) -> Any:
    """The public names, each imported at its first use: `operant --help` needs none of them."""
    if name in __all__:
        from . import shared

        return getattr(shared, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
