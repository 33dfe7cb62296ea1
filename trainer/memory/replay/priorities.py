"""Priorities of rows, and draws by them.

    p_i = |error_i| + eps,   P_i = p_i^alpha / sum_j p_j^alpha,   w_i = (N P_i)^-beta / max_j w_j

A leaf is p_i^alpha, float32, and 0 for what is never drawn. Of each 32 leaves there is a sum, of
each 1,024, a block, and of each 32 blocks, all float64. Sums are made anew where a leaf changed,
never added to, so that nothing drifts, and always in the same order: the same leaves have the same
sums, whatever came before, on every device. A row can be drawn if it has 2^-52 of the sum of all
or more. The maximum of the weights is over the batch.
Source: Schaul et al. 2016, arXiv:1511.05952, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....shared.errors import ConfigError
from ...jit.compiling import compiled_in_order
from .layout import PART

Array = Any  # on the processor, or a tensor or array of a GPU

SEEN = -1.0  # a leaf that is being replaced
BELOW_ONE = 1.0 - 2.0**-53


@dataclass(frozen=True)
class Priorities:
    """How errors become priorities; `alpha` 0 draws uniformly, 1 in proportion.

    Raises ConfigError where a row could have no priority, or one without a bound.
    """

    alpha: float = 0.6
    eps: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"priorities.alpha = {self.alpha} is not from 0 to 1")
        if not 1e-30 <= self.eps <= 1e30:
            raise ConfigError(f"priorities.eps = {self.eps} is not above 0: rows would be lost")


class PriorityArrays(NamedTuple):
    """Leaves and their sums; all but the last two are empty where draws are uniform."""

    leaves: Array  # [L] float32
    parts: Array  # [L / 32] float64
    blocks: Array  # [L / 1024, up to a multiple of 32] float64
    groups: Array  # of 32 blocks each, float64
    cumulative: Array  # of the blocks, float64
    max_leaf: Array  # [1] float32, the largest that any row had: that of new rows
    num_refused: Array  # [1] int64, updates with an error that is not a number


@compiled_in_order
def leaf_of(error, alpha, eps):
    """The leaf of a row with this TD error."""
    return np.float32((abs(np.float64(error)) + eps) ** alpha)


@compiled_in_order
def sum_of(items, number):
    """The sum of 32 neighbours, one after the other."""
    total = 0.0
    for i in range(number * PART, number * PART + PART):
        total += np.float64(items[i])
    return total


@compiled_in_order
def accumulate_group(group, before, sums):
    """Write the cumulative sums of 32 blocks, where `before` is that of all earlier ones."""
    total = 0.0
    for i in range(group * PART, group * PART + PART):
        total += sums.blocks[i]
        sums.cumulative[i] = before + total


@compiled_in_order
def leaf_at(share, sums):
    """The row in which this share, from 0 to below 1, of the sum of all leaves falls; -1 where that
    is 0. A leaf of 0 is never it.
    """
    cumulative = sums.cumulative
    num_blocks = len(cumulative)
    total = cumulative[num_blocks - 1]
    if not total > 0.0:
        return np.int64(-1)
    wanted = min(share, BELOW_ONE) * total  # which is below `total`, however it is rounded
    # The first block whose cumulative sum is above; halved without a branch to foretell.
    block, size = np.int64(0), np.int64(num_blocks)
    while size > 1:
        half = size >> 1
        block += half if cumulative[block + half - 1] <= wanted else np.int64(0)
        size -= half
    rest = wanted - cumulative[block - 1] if block > 0 else wanted
    part, rest = item_at(rest, sums.parts, block)
    leaf, _ = item_at(rest, sums.leaves, part)
    return leaf


@compiled_in_order
def item_at(rest, items, number):
    """(which of 32 neighbours has `rest` in its part of their sum, and what is left of it there).

    What rounding leaves over falls to the last that is not 0.
    """
    found = np.int64(number * PART)
    left = 0.0
    for i in range(number * PART, number * PART + PART):
        item = np.float64(items[i])
        if item > 0.0:
            found, left = np.int64(i), rest
            if rest < item:
                break
            rest -= item
    return found, left


@compiled_in_order
def importance(leaf, lowest, beta):
    """The weight of a row, where `lowest` is the lowest leaf of its batch: N and the sum of all
    priorities cancel out.
    """
    return (np.float64(lowest) / np.float64(leaf)) ** beta
