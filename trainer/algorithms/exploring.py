"""How much an algorithm explores as a run goes on."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .sections.exploring import EpsilonGreedyConfig


def epsilon_at(section: EpsilonGreedyConfig, progress_fraction: Any) -> Any:
    """The part of random actions after `progress_fraction` (0 to 1) of the run: a number, or a
    scalar tensor where the fraction is one.
    """
    left = 1 - progress_fraction / section.epsilon_fraction
    left = left.clamp(min=0) if isinstance(left, Tensor) else max(left, 0.0)
    return section.epsilon_end + (section.epsilon_start - section.epsilon_end) * left
