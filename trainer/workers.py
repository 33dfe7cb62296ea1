"""Threads that share out work in shards whose sizes, and so whose numbers, never depend on them.

PyTorch and the environment kernels release the interpreter's lock while they compute. One torch
thread a worker: its own pool would split matrix products by thread count and change their rounding.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import torch

Shard = slice
Result = TypeVar("Result")

TICK_S = 0.05
_TRIALS = 3


class Workers:
    """`num_threads` threads, kept for the run."""

    def __init__(self, num_threads: int) -> None:
        """`tick` may be set to what the waiting thread does about every `TICK_S`."""
        torch.set_num_threads(1)
        self.num_threads = num_threads
        self.tick: Callable[[], None] = lambda: None
        self._pool = ThreadPoolExecutor(
            num_threads, "worker", initializer=torch.set_num_threads, initargs=(1,)
        )

    def map(self, function: Callable[[Any], Result], items: Sequence[Any]) -> list[Result]:
        """`function` of every item, in order. The first error is raised once all have stopped."""
        futures = [self._pool.submit(function, item) for item in items]
        while wait(futures, TICK_S).not_done:
            self.tick()
        return [future.result() for future in futures]

    def close(self) -> None:
        self._pool.shutdown()


def shards(total: int, size: int) -> list[Shard]:
    """0 to `total` in as many near-equal parts as come closest to `size` each."""
    count = max(1, round(total / size))
    return [slice(total * i // count, total * (i + 1) // count) for i in range(count)]


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fastest_num_threads(work: Callable[[Workers], None], most: int | None = None) -> int:
    """The thread count with which `work` runs fastest here and now: 1, 2, 4, ... are tried.

    Measured rather than assumed: on a busy machine two threads can be slower than one.
    """
    most = most or available_cores()
    candidates = sorted({min(2**i, most) for i in range(most.bit_length() + 1)})
    seconds = {}
    for num_threads in candidates:
        workers = Workers(num_threads)
        seconds[num_threads] = min(_seconds(work, workers) for _ in range(_TRIALS))
        workers.close()
    return min(candidates, key=lambda num_threads: seconds[num_threads])


def _seconds(work: Callable[[Workers], None], workers: Workers) -> float:
    start = time.perf_counter()
    work(workers)
    return time.perf_counter() - start
