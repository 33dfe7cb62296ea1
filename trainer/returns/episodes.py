"""The results of greedy episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Progress = Callable[[int, int, str], None]  # done, total, of what

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


class FromStart(NamedTuple):
    """What followed the first observations `obs` [E, D]: discounted returns [E], and where a limit
    cut an episode short what is left, the discount [E] and the last observation [E, D]; else 0.
    """

    obs: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    returns: Floats
    left_discounts: Floats
    left_obs: np.ndarray[tuple[int, int], np.dtype[np.float32]]


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of episodes, each [E], of every agent where environments
    have several; `details` are more metrics, and `settings` the figures of each kind of episode
    where there are several.

    `num_cut_off` of them had no end within the limit and count as far as they went.
    """

    returns: Floats
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    details: Mapping[str, float] = field(default_factory=dict)
    num_cut_off: int = 0
    from_start: FromStart | None = None
    settings: tuple[Mapping[str, float | None], ...] = ()

    @property
    def num_episodes(self) -> int:
        """Where environments have several agents, of all of them."""
        return sum(int(each["episodes"] or 0) for each in self.settings) or len(self.returns)
