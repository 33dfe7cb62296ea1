"""The results of greedy episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Undiscounted `returns` [E] and `lengths` [E] of greedy episodes, of every agent if there are
    several, and what follows from them. `details` are more metrics, `settings` the figures of
    groups of episodes.

    `num_cut_off` episodes did not end within the limit and count as far as they went.
    """

    returns: Floats
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    details: Mapping[str, float] = field(default_factory=dict)
    num_cut_off: int = 0
    from_start: FromStart | None = None
    settings: tuple[Mapping[str, float | None], ...] = ()

    def __repr__(self) -> str:
        return (
            f"<operant.Evaluation of {self.num_episodes} episodes: return {self.mean:.6g} "
            f"± {self.std:.6g}>"
        )

    @property
    def num_episodes(self) -> int:
        """The number of episodes, of all agents if there are several."""
        return sum(int(group["episodes"] or 0) for group in self.settings) or len(self.returns)

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        """The standard deviation of the returns."""
        return float(self.returns.std())

    @property
    def success_rate(self) -> float | None:
        """The fraction of episodes that succeeded; None if the environment says nothing of it."""
        return self.details.get("evaluation/success_rate", self.details.get("evaluation/success"))

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics that a run publishes of an evaluation, by name."""
        return {
            "evaluation/return": self.mean,
            "evaluation/length": float(self.lengths.mean()),
            **self.details,
        }

    def as_dict(self) -> dict[str, Any]:
        """All of this for JSON, as `operant eval --json` prints it."""
        names = ("num_episodes", "mean", "std", "success_rate", "metrics")
        return {
            **{name: getattr(self, name) for name in names},
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            **({"settings": list(self.settings)} if self.settings else {}),
        }
