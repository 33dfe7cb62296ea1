"""The replay of off-policy algorithms: the newest transitions, and draws from them."""

from .layout import Layout
from .priorities import Priorities
from .replay import Batch, Replay

__all__ = ["Batch", "Layout", "Priorities", "Replay"]
