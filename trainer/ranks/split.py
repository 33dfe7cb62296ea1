"""How environments are shared out among ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from ...shared.errors import ConfigError

AUTO = "auto"  # as fast as ranks turn out to be, see `balance`

if TYPE_CHECKING:
    from ..config import TrainConfig


class Share(NamedTuple):
    """The environments of one rank: `num_envs` from `first_env` on."""

    first_env: int
    num_envs: int


def shares_of(config: TrainConfig, split: str, world_size: int) -> list[Share]:
    """What each rank has of the environments of `config`. Raises ConfigError."""
    return shares(split, config.num_envs, world_size, together_in(config))


def together_in(config: TrainConfig) -> int:
    """How many environments stay together: those along one route are compared with one another."""
    return int(getattr(config.env_section, "rollouts_per_route", 1))


def shares(split: str, num_envs: int, world_size: int, together: int = 1) -> list[Share]:
    """What each rank has of `num_envs` environments, in the proportions of `split`, `1.4:1:0.6`;
    empty, or `auto` before anything was measured: all alike. Everybody has at least one, and is as
    near to its part as whole environments allow, or groups of so many `together`. Raises
    ConfigError.
    """
    weights = [Fraction(1)] * world_size if split in ("", AUTO) else _weights(split, world_size)
    if num_envs // together < world_size:
        needed = "one" if together == 1 else f"{together}, those along a route"
        raise ConfigError(
            f"num_envs = {num_envs} is too few for {world_size} ranks: each needs {needed}"
        )
    return shares_by(weights, num_envs, together)


def shares_by(weights: Sequence[Fraction | float], num_envs: int, together: int = 1) -> list[Share]:
    """As `shares`, by a number above 0 for each rank."""
    groups = _whole([Fraction(weight) for weight in weights], num_envs // together)
    counts = [together * count for count in groups]
    firsts = [sum(counts[:i]) for i in range(len(counts))]
    return [Share(*pair) for pair in zip(firsts, counts, strict=True)]


def shares_in_words(parts: Sequence[Share], hosts: Sequence[str]) -> str:
    each = [f"{part.num_envs} on {host}" for part, host in zip(parts, hosts, strict=True)]
    return f"environments of ranks 0 to {len(parts) - 1}: {', '.join(each)}"


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
                f"split = {split}: '{part}' is not a number above 0; 1.4:1:0.6 is a split, or auto"
            )
        weights.append(Fraction(number))
    return weights


def _whole(weights: list[Fraction], total: int) -> list[int]:
    """Whole numbers from 1 on, with the sum `total`, nearest to the weights: of what is over 1 each
    the whole parts first, then one more for the largest remainders.
    """
    sum_of_weights = sum(weights)
    wanted = [max(weight * total / sum_of_weights, Fraction(1)) for weight in weights]
    # Whoever was given more than its part takes that from what the others have over 1.
    over = [want - 1 for want in wanted]
    left, sum_over = total - len(weights), sum(over)
    exact = [each * left / sum_over if sum_over else Fraction(0) for each in over]
    counts = [1 + int(each) for each in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (int(exact[i]) - exact[i], i))
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    return counts
