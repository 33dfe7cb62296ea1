"""Draws by priorities held against exact probabilities: `make draws` takes the large ones.

python tools/replay_draws.py [--rows 10000000] [--reachable 8000000]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

import numpy as np
import torch
from numba import njit

from operant.trainer.memory.replay import Priorities, Replay
from operant.trainer.memory.replay.priorities import leaf_at


def replay_with(num_rows: int, tail: float) -> Replay:
    """So many rows whose priorities are log-normal, of this standard deviation."""
    replay = Replay(num_rows, 1, 1, (), torch.int64, seed=1, priorities=Priorities(alpha=1.0))
    generator = torch.Generator().manual_seed(num_rows)
    leaves = replay._sums.leaves
    leaves[:num_rows] = (tail * torch.randn(num_rows, generator=generator)).exp()
    replay._ring.written.fill_(num_rows)
    replay._engine.sum_all()
    return replay


def chi_squared_of_draws(num_rows: int, tail: float, num_draws: int) -> tuple[float, int]:
    """(chi-squared, degrees of freedom) of a histogram of draws against the probabilities.

    Neighbours are taken together until each group expects 20 draws or more.
    """
    replay = replay_with(num_rows, tail)
    batch = replay.make_batch(1000)
    counts = np.zeros(num_rows)
    for _ in range(num_draws // 1000):
        np.add.at(counts, replay.sample(batch).index.numpy(), 1)
    leaves = replay._sums.leaves[:num_rows].double().numpy()
    expected = leaves / math.fsum(leaves) * num_draws
    # Each group starts where the sum so far passes the next multiple of 20.
    group = (np.cumsum(expected) / 20).astype(np.int64)
    _, group = np.unique(group, return_inverse=True)
    expected, counts = np.bincount(group, expected), np.bincount(group, counts)
    large = expected >= 5
    squares = (counts[large] - expected[large]) ** 2 / expected[large]
    return float(squares.sum()), int(large.sum() - 1)


def unreachable_rows(replay: Replay) -> int:
    """Rows that no share of the sum leads to: each is looked for in the middle of its own."""
    sums: Any = replay._sums
    replay.sample(replay.make_batch(1))  # makes the cumulative sums
    arrays = type(sums)(*(x.numpy() for x in sums))
    return int(_count_unreachable(arrays, int(replay.num_rows)))


@njit
def _count_unreachable(sums, num_rows):
    total = sums.cumulative[-1]
    missed = 0
    before = 0.0
    for row in range(num_rows):
        leaf = np.float64(sums.leaves[row])
        # Where the row's part begins, as sums of blocks, parts and leaves have it.
        if row % 1024 == 0:
            before = sums.cumulative[row // 1024 - 1] if row else 0.0
            of_parts = 0.0
        if row % 32 == 0:
            of_leaves = 0.0
        middle = before + of_parts + of_leaves + leaf / 2
        if leaf_at(middle / total, sums) != row:
            missed += 1
        of_leaves += leaf
        if row % 32 == 31:
            of_parts += sums.parts[row // 32]
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--reachable", type=int, default=8_000_000)
    options = parser.parse_args()
    failed = False
    for num_rows in (1000, options.rows):
        for tail in (0.0, 1.0, 4.0):
            start = time.perf_counter()
            chi_squared, freedom = chi_squared_of_draws(num_rows, tail, 1_000_000)
            limit = freedom + 4.3 * math.sqrt(2 * freedom)
            failed |= chi_squared > limit
            print(
                f"{num_rows:,} rows, log-normal of {tail}: chi-squared {chi_squared:.0f} of "
                f"{freedom} degrees, limit {limit:.0f}; {time.perf_counter() - start:.1f} s"
            )
    for tail in (0.0, 1.0, 2.0):
        replay = replay_with(options.reachable, tail)
        missed = unreachable_rows(replay)
        failed |= missed > 0
        flat = replay._sums.leaves.numpy()[: options.reachable].cumsum(dtype=np.float32)
        lost = (np.diff(flat) == 0).mean()
        print(
            f"{options.reachable:,} rows, log-normal of {tail}: {missed} unreachable; "
            f"{lost:.1%} in a flat float32 sum"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
