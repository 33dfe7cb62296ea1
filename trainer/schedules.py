"""How a coefficient changes over a run."""

from __future__ import annotations

import math

from .config import Schedule


def scheduled(start: float, schedule: Schedule, progress_fraction: float) -> float:
    """`start` as it stands after `progress_fraction` (0 to 1) of the run."""
    if schedule == "linear":
        return start * (1 - progress_fraction)
    if schedule == "cosine":
        return start * 0.5 * (1 + math.cos(math.pi * progress_fraction))
    return start
