"""Chunks of a batch on a processor's threads, one thread each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ....machine.threads import available_cores


class Workers:
    """A chunk is small enough that what it needs stays in a core's cache.

    Whoever calls is one of the threads: it would only wait, and waking it costs time at every step.
    """

    def __init__(self, num_threads: int, chunk: int) -> None:
        """`num_threads` 0 takes all cores; `chunk` is the most episodes of a part."""
        self._num_threads, self._chunk = num_threads or available_cores(), chunk
        self._pool = ThreadPoolExecutor(max(1, self._num_threads - 1), "tinyphysics")

    def share_out(self, work: Callable[[slice], None], total: int) -> None:
        """Call `work` on parts that together are 0 to `total`; returns when all are done."""
        count = -(-total // self._chunk)
        if total > self._chunk:  # every thread should be busy to the end
            count = -(-count // self._num_threads) * self._num_threads
        edges = [total * i // count for i in range(count + 1)]
        parts = iter([slice(*pair) for pair in itertools.pairwise(edges)])

        def work_off() -> None:
            for part in parts:  # of one list for all threads
                work(part)

        helpers = [self._pool.submit(work_off) for _ in range(min(self._num_threads, count) - 1)]
        work_off()
        for helper in helpers:
            helper.result()
