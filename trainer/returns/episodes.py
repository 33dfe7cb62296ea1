"""The results of greedy episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Progress = Callable[[int, int, str], None]  # done, total, of what

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


class FromStart(NamedTuple):
    """The first observations `obs` [E, D] of episodes and their discounted returns [E]. Where a
    limit cut an episode short, also its last discount [E] and observation [E, D], elsewhere 0.
    """

    obs: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    returns: Floats
    left_discounts: Floats
    left_obs: np.ndarray[tuple[int, int], np.dtype[np.float32]]


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns [E] and lengths [E] of episodes, of every agent if there are several.
    `details` are more metrics, `settings` the figures of groups of episodes.

    `num_cut_off` episodes did not end within the limit and count as far as they went.
    """

    returns: Floats
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    details: Mapping[str, float] = field(default_factory=dict)
    num_cut_off: int = 0
    from_start: FromStart | None = None
    settings: tuple[Mapping[str, float | None], ...] = ()

    @property
    def num_episodes(self) -> int:
        """The number of episodes, of all agents if there are several."""
        return sum(int(each["episodes"] or 0) for each in self.settings) or len(self.returns)
