"""Compiled loops on several cores, and which number of threads is the fastest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

TICK_S = 0.05
_TRIALS = 3


class Threads:
    """Runs compiled loops on `num_threads` cores, and ticks meanwhile.

    Loops share out work in shards whose sizes, and so whose numbers, do not depend on the count.
    All are begun by one and the same thread. OpenMP keeps a team of threads for each that ever
    began a loop, and as soon as there are more of them than cores they sleep between two loops:
    an update of hundreds of short ones then takes a third longer.
    """

    def __init__(self, num_threads: int) -> None:
        """`tick` may be set to what the waiting thread does about every `TICK_S`."""
        one_torch_thread()
        self.num_threads = min(num_threads, available_cores())
        self.tick: Callable[[], None] = lambda: None
        self._pool = ThreadPoolExecutor(1, "compiled")

    def run(self, loop: Callable[..., Any], *arguments: Any) -> Any:
        """What `loop` gives for these arguments."""
        future = self._pool.submit(self._on_all_cores, loop, *arguments)
        while wait([future], TICK_S).not_done:
            self.tick()
        return future.result()

    def close(self) -> None:
        self._pool.shutdown()

    def _on_all_cores(self, loop: Callable[..., Any], *arguments: Any) -> Any:
        loop_threads(self.num_threads)
        try:
            return loop(*arguments)
        finally:
            one_torch_thread()


def loop_threads(num_threads: int) -> None:
    """Compiled loops that this very thread begins share `num_threads`, and not all cores."""
    numba.set_num_threads(num_threads)


def one_torch_thread() -> None:
    """Keep PyTorch to one thread: it would split its sums by their number, and round accordingly.

    For after every compiled parallel loop, because those set the number of threads for both.
    """
    torch.set_num_threads(1)


@contextlib.contextmanager
def torch_threads(num_threads: int) -> Iterator[None]:
    """PyTorch has so many threads meanwhile; for sums that come out the same with any number."""
    if num_threads == 1:
        yield
        return
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        one_torch_thread()


def shards(total: int, size: int) -> NDArray[np.int64]:
    """0 to `total` in as many near-equal parts as come closest to `size` each: [S, 2]."""
    count = max(1, round(total / size))
    edges = [total * i // count for i in range(count + 1)]
    return np.array([edges[:-1], edges[1:]], np.int64).T.copy()


def available_cores() -> int:
    """The cores this process may use, and Numba has threads for."""
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def numbers_to_try() -> list[int]:
    """1, 2, 4, ... and all cores."""
    most = available_cores()
    return sorted({min(2**i, most) for i in range(most.bit_length() + 1)})


def fastest_num_threads(work: Callable[[Threads], None]) -> int:
    """The thread count with which `work` runs fastest here and now: 1, 2, 4, ... are tried.

    Measured rather than assumed: on a busy machine two threads can be slower than one.
    """
    seconds: dict[int, float] = {}
    for num_threads in numbers_to_try():
        threads = Threads(num_threads)
        seconds[num_threads] = min(_seconds(work, threads) for _ in range(_TRIALS))
        threads.close()
    return min(seconds, key=lambda num_threads: seconds[num_threads])


def _seconds(work: Callable[[Threads], None], threads: Threads) -> float:
    start = time.perf_counter()
    work(threads)
    return time.perf_counter() - start
