"""Runs a network on the processor: chunks of a batch, each on one thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....machine.threads import available_cores
from ..constants import VOCABULARY_SIZE
from ..tokens import sampled_tokens

CHUNK = 16  # episodes of one call: what they need stays in a core's cache


class ProcessorEngine:
    """An `Engine` that calls a network chunk by chunk on several threads.

    The caller is one of the threads: it would only wait, and waking it costs time at every step.
    """

    device = torch.device("cpu")

    def __init__(
        self, name: str, network: Callable[[Tensor, Tensor], NDArray[Any]], num_threads: int
    ) -> None:
        """`network` gives logits [b, 1024] float32 of states [b, 20, 4] and tokens [b, 20];
        `num_threads` 0 takes all cores.
        """
        self.name, self._network = name, network
        self._num_threads = num_threads or available_cores()
        self._pool = ThreadPoolExecutor(max(1, self._num_threads - 1), "tinyphysics")

    def logits(self, states: Tensor, tokens: Tensor) -> Tensor:
        logits = np.empty((len(states), VOCABULARY_SIZE), np.float32)

        def work(part: slice) -> None:
            logits[part] = self._network(states[part], tokens[part])

        self._share_out(work, len(states))
        return torch.from_numpy(logits)

    def next_tokens(self, states: Tensor, tokens: Tensor, uniforms: Tensor) -> Tensor:
        drawn, numbers = np.empty(len(states), np.int64), uniforms.numpy()

        def work(part: slice) -> None:
            drawn[part] = sampled_tokens(self._network(states[part], tokens[part]), numbers[part])

        self._share_out(work, len(states))
        return torch.from_numpy(drawn)

    def _share_out(self, work: Callable[[slice], None], total: int) -> None:
        """Call `work` on parts that together are 0 to `total`; returns when all are done."""
        count = -(-total // CHUNK)
        if total > CHUNK:  # every thread should be busy to the end
            count = -(-count // self._num_threads) * self._num_threads
        edges = [total * i // count for i in range(count + 1)]
        parts = iter([slice(*pair) for pair in itertools.pairwise(edges)])

        def work_off() -> None:
            for part in parts:  # one list for all threads
                work(part)

        helpers = [self._pool.submit(work_off) for _ in range(min(self._num_threads, count) - 1)]
        work_off()
        for helper in helpers:
            helper.result()
