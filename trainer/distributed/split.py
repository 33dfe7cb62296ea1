"""How environments are divided among ranks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from ...shared.errors import ConfigError

if TYPE_CHECKING:
    from ..config import TrainConfig


class Share(NamedTuple):
    """The environments of one rank: `num_envs` from `first_env` on."""

    first_env: int
    num_envs: int


def shares_of(config: TrainConfig, split: str, world_size: int) -> list[Share]:
    """The environments of each rank. Raises ConfigError."""
    # Episodes along one route are compared, so they stay in one rank.
    envs_per_route = int(getattr(getattr(config, config.env, None), "rollouts_per_route", 1))
    return shares(split, config.num_envs, world_size, envs_per_route)


def shares(split: str, num_envs: int, world_size: int, group_size: int = 1) -> list[Share]:
    """Divide `num_envs` environments in the proportions of `split`, such as `1.4:1:0.6`; equally if
    it is empty. Each rank gets at least one group of `group_size` environments, and as many groups
    as come nearest to its proportion. Raises ConfigError.
    """
    weights = [Fraction(1)] * world_size if not split else _weights(split, world_size)
    if num_envs // group_size < world_size:
        needed = "one" if group_size == 1 else f"{group_size}, those along a route"
        raise ConfigError(
            f"num_envs = {num_envs} is too few for {world_size} ranks: each needs {needed}"
        )
    counts = [group_size * count for count in _integers(weights, num_envs // group_size)]
    firsts = [sum(counts[:i]) for i in range(len(counts))]
    return [Share(*pair) for pair in zip(firsts, counts, strict=True)]


def _weights(split: str, world_size: int) -> list[Fraction]:
    parts = [part.strip() for part in split.split(":")]
    if len(parts) != world_size:
        raise ConfigError(f"split = {split} is for {len(parts)} ranks, and there are {world_size}")
    weights = []
    for part in parts:
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise ConfigError(
                f"split = {split}: '{part}' is not a number above 0; 1.4:1:0.6 is a split"
            )
        weights.append(Fraction(number))
    return weights


def _integers(weights: list[Fraction], total: int) -> list[int]:
    """Integers from 1 on, with the sum `total`, nearest to the proportions of the weights, by the
    method of largest remainders.
    """
    sum_of_weights = sum(weights)
    wanted = [max(weight * total / sum_of_weights, Fraction(1)) for weight in weights]
    # If some are raised to 1, all others lose the same fraction of their excess over 1.
    above = [want - 1 for want in wanted]
    left, sum_above = total - len(weights), sum(above)
    exact = [part * left / sum_above if sum_above else Fraction(0) for part in above]
    counts = [1 + int(part) for part in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (int(exact[i]) - exact[i], i))
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    return counts
