"""How a coefficient changes over a run."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..config.section import Schedule


def scheduled(start: float, schedule: Schedule, progress_fraction: Any) -> Any:
    """`start` as it stands after `progress_fraction` (0 to 1) of the run: a number, or a scalar
    tensor where the fraction is one.
    """
    if schedule == "linear":
        return start * (1 - progress_fraction)
    if schedule == "cosine":
        return start * 0.5 * (1 + _cosine(math.pi * progress_fraction))
    return start + 0 * progress_fraction


def _cosine(angle_rad: Any) -> Any:
    return torch.cos(angle_rad) if isinstance(angle_rad, Tensor) else math.cos(angle_rad)
