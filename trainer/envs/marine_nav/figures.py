"""What MarineNav's evaluations tell, as its authors do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...evaluation import Evaluation, FromStart
from .constants import DECISION_S
from .scenario import Array
from .section import SUCCESSES

GAMMA = 0.99  # of the authors' returns


class Setting(NamedTuple):
    """What scenarios of one kind have."""

    robots: int
    obstacles: int
    vortices: int


class Outcome(NamedTuple):
    """Of E episodes of A robots: which robots took part, arrived and collided, their energy in N s,
    decisions, and undiscounted returns, each [E, A]; the authors' discounted returns [E, A]; which
    episodes were cut off [E], and what followed the robots' first observations.
    """

    took_part: Array
    arrived: Array
    collided: Array
    energy: Array
    decisions: Array
    returns: Array
    discounted: Array
    cut_off: Array
    from_start: FromStart


def told(outcome: Outcome, settings: Sequence[Setting], energy: str) -> Evaluation:
    """Metrics over all episodes, and over those of each setting; `energy` is the name of that."""
    every = np.ones(len(settings), np.bool_)
    by_setting = []
    for setting in dict.fromkeys(settings):
        chosen = np.array([other == setting for other in settings])
        figures = {
            name: None if np.isnan(x) else x
            for name, x in figures_of(outcome, chosen, energy).items()
        }
        by_setting.append({**setting._asdict(), "episodes": int(chosen.sum()), **figures})
    details = {f"evaluation/{name}": x for name, x in figures_of(outcome, every, energy).items()}
    for each in by_setting:
        name = f"evaluation/success_{each['robots']}_{each['obstacles']}"
        if not each["vortices"] and name in {metric.name for metric in SUCCESSES}:
            details[name] = each["success"]
    return Evaluation(
        returns=outcome.returns[outcome.took_part],
        lengths=outcome.decisions[outcome.took_part],
        details={name: x for name, x in details.items() if not np.isnan(x)},
        num_cut_off=int(outcome.cut_off.sum()),
        from_start=outcome.from_start,
        settings=tuple(by_setting),
    )


def figures_of(outcome: Outcome, chosen: Array, energy: str) -> dict[str, float]:
    """The authors' figures of the episodes `chosen` [E]; time and energy are NaN without success.

    They call it success when all robots have arrived, also one that collided as it did; the strict
    success has no collision.
    """
    part = outcome.took_part[chosen]

    def means(of_robots: Array) -> Array:
        """Over the robots of each episode."""
        mean: Array = np.where(part, of_robots[chosen], 0).sum(1) / np.maximum(part.sum(1), 1)
        return mean

    success = (outcome.arrived[chosen] | ~part).all(1) & part.any(1)
    strict = success & ~outcome.collided[chosen].any(1)

    def over_successes(means: Array) -> float:
        return float(means[success].mean()) if success.any() else float("nan")

    return {
        "success": float(success.mean()),
        "strict_success": float(strict.mean()),
        "discounted_return": float(means(outcome.discounted).mean()),
        "time_s": over_successes(means(outcome.decisions) * DECISION_S),
        energy: over_successes(means(outcome.energy)),
    }
