"""Distributions over actions, as functions of the actor's outputs.

Callers pass in the noise for sampling, so that they decide which draws are repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from ....shared.errors import ConfigError
from ...spaces import ActionSpec, Box, Discrete
from .beta import Beta
from .categorical import Categorical, MultiCategorical
from .gaussian import Gaussian, SquashedGaussian


class Distribution(Protocol):
    """Turns the actor's outputs [B, num_outputs] into actions and their probabilities.

    Rollouts store actions as they were drawn, so that their probabilities stay exact; `env_actions`
    clips or squashes them for the environment. The last `num_log_stds` outputs are parameters of
    the policy, not outputs of its network: they are the same for every observation. Probabilities
    and entropies are float32 or float64 for outputs of any precision.
    """

    num_outputs: int
    num_log_stds: int
    action_shape: tuple[int, ...]
    action_dtype: torch.dtype

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for actions of this leading shape, on the generator's device."""

    def sample(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Actions [B, *action_shape]."""

    def mode(self, outputs: Tensor) -> Tensor:
        """The actions [B, *action_shape] of greedy evaluation: the likeliest, or the mean."""

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` as the environment takes them, within its bounds."""

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability of `actions`, and entropy of the distribution, each [B] in nats.

        Of real-valued actions that are mapped to an interval both are those on [-1, 1] or [0, 1]:
        the map to the environment's units would add the same number everywhere.
        """

    def kl(self, outputs: Tensor, others: Tensor) -> Tensor:
        """KL(outputs, others) [B], the divergence from one distribution to another, in nats."""


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
