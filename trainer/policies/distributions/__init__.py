"""Distributions over actions, as functions of what the actor puts out.

Each draws with noise it is given, so that who holds the random numbers decides what is repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ....shared.errors import ConfigError
from ...spaces import ActionSpec, Box, Discrete
from .beta import Beta
from .categorical import Categorical, MultiCategorical
from .gaussian import Gaussian, SquashedGaussian
from .protocol import Distribution

__all__ = ["Distribution", "make_distribution"]

OF_BOXES: dict[str, Callable[[Box], Distribution]] = {
    "gaussian": Gaussian,
    "squashed_gaussian": SquashedGaussian,
    "beta": Beta,
}


def make_distribution(actions: ActionSpec, name: str = "auto") -> Distribution:
    """The distribution called `name` over these actions; "auto" is the one that suits them.

    Raises ConfigError when it does not.
    """
    if isinstance(actions, Box):
        return _of_box(actions, "gaussian" if name == "auto" else name)
    if name != "auto":
        raise ConfigError(
            f"policy.distribution = '{name}' is for real-valued actions; those of this "
            "environment are discrete: leave it at 'auto'"
        )
    return Categorical(actions) if isinstance(actions, Discrete) else MultiCategorical(actions)


def _of_box(actions: Box, name: str) -> Distribution:
    if name != "gaussian" and not all(map(math.isfinite, (*actions.low, *actions.high))):
        raise ConfigError(
            f"policy.distribution = '{name}' needs finite bounds; the actions of this environment "
            "have none: use 'gaussian'"
        )
    return OF_BOXES[name](actions)
