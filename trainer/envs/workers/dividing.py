"""Which numbers of workers and groups fit a number of environments.

E environments are shared out evenly among W workers, and the workers among k groups: W divides E,
and k, the async factor, divides W.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

AUTO = "auto"  # where a number may be: measured
MOST_WORKERS = 1024


@dataclass(frozen=True)
class WorkerPlan:
    """`num_workers` processes that share environments equally, in `async_factor` groups. Without
    workers this process steps all environments.
    """

    num_workers: int = 0
    async_factor: int = 1
    timeout_s: float = 120.0

    def for_evaluation(self, num_envs: int) -> WorkerPlan:
        """One group of as many of the workers as share `num_envs` environments evenly."""
        count = self.num_workers
        return WorkerPlan(most_workers(num_envs, count, count) if count else 0, 1, self.timeout_s)


SERIAL = WorkerPlan()


def num_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def divisors(n: int, most: int | None = None) -> list[int]:
    """The numbers from 1 to `most` that divide n, rising."""
    return [d for d in range(1, min(n, most or n) + 1) if n % d == 0]


def why_not(num_envs: int, num_workers: int, async_factor: int, cores: int) -> str:
    """Why these numbers do not fit, with the nearest that would; empty where they do.

    `num_workers` 0 steps all environments here, in one group.
    """
    if num_workers == 0:
        if async_factor > 1:
            return (
                f"workers.async_factor = {async_factor} is for workers, and workers.num_workers "
                "= 0; use 1"
            )
        return ""
    if num_workers > cores:
        fitting = _either(divisors(num_envs, cores)[-1:])
        return (
            f"workers.num_workers = {num_workers} is more than the {cores} cores of this machine; "
            f"num_workers may be {fitting}"
        )
    if num_envs % num_workers:
        return (
            f"workers.num_workers = {num_workers} does not divide num_envs = {num_envs}; "
            f"num_workers may be {_either(nearest_divisors(num_envs, num_workers, cores))}, or "
            f"num_envs {_either(nearest_multiples(num_workers, num_envs))}"
        )
    if num_workers % async_factor:
        return (
            f"workers.async_factor = {async_factor} does not divide workers.num_workers = "
            f"{num_workers}; async_factor may be "
            f"{_either(nearest_divisors(num_workers, async_factor, num_workers))}"
        )
    return ""


def nearest_divisors(n: int, wanted: int, most: int) -> list[int]:
    """The divisor of n next below `wanted`, and the one next above, at most `most`."""
    fitting = divisors(n, most)
    below = [d for d in fitting if d <= wanted][-1:]
    return below + [d for d in fitting if d > wanted][:1]


def nearest_multiples(n: int, wanted: int) -> list[int]:
    """The multiples of n, from n on, next to `wanted` on both sides."""
    below = wanted // n * n
    return [m for m in (below, below + n) if m > 0]


def most_workers(num_envs: int, num_workers: int, cores: int) -> int:
    """The most workers up to `num_workers` that divide the environments and have a core each."""
    return divisors(num_envs, min(num_workers, cores))[-1]


def most_groups(num_workers: int, async_factor: int) -> int:
    """The largest async factor up to `async_factor` that divides the workers."""
    return divisors(num_workers, async_factor)[-1] if num_workers else 1


def candidates(
    num_envs: int, num_workers: int | str, async_factor: int | str, cores: int, most_groups: int
) -> list[tuple[int, int]]:
    """Pairs (W, k) that fit, the plainest first: a single one where nothing is left to measure.

    Of `AUTO` workers none, as many as there are cores and half as many are tried; of `AUTO` groups
    one and two, where `most_groups` allows that.
    """
    if num_workers == AUTO:
        most = {most_workers(num_envs, count, cores) for count in (cores, max(1, cores // 2))}
        workers = [0, *sorted(most - {1})]
    else:
        asked = int(num_workers)
        workers = [most_workers(num_envs, asked, cores) if asked else 0]
    pairs = []
    for count in workers:
        groups = [1, 2] if async_factor == AUTO else [int(async_factor)]
        fitting = [k for k in groups if k <= most_groups and k in divisors(max(1, count))]
        pairs += [(count, k) for k in fitting or [1]]
    return list(dict.fromkeys(pairs))


def _either(values: Sequence[int]) -> str:
    return " or ".join(map(str, values))
