"""Work that is captured once and replayed as CUDA graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import torch


class Replayed:
    """Runs `work` directly the first time, captures it the second time, and then replays it.

    The first run compiles kernels and lets libraries allocate memory, which a capture must not.
    Capturing waits for the GPU; replaying never does. Without `capture`, as on the processor, every
    run is like the first.

    `graphs` are replayed in order, each as often as its number says: one, or several where `work`
    calls `repeat` or `end_graph`.
    """

    def __init__(self, work: Callable[[], None], capture: bool) -> None:
        self._work, self._capture = work, capture
        self.graphs: list[tuple[torch.cuda.CUDAGraph, int]] = []
        self.num_runs = 0

    def __call__(self) -> None:
        if not self._capture or self.num_runs == 0:
            self._work()
        elif not self.graphs:
            self.graphs = _Capture().graphs_of(self._work)
        else:
            for graph, times in self.graphs:
                replay(graph, times)
        self.num_runs += 1


def replay(graph: torch.cuda.CUDAGraph, times: int) -> None:
    for _ in range(times):
        graph.replay()


def repeat(times: int, work: Callable[[], None]) -> None:
    """Do `work` `times` times. A capture records it once, as a graph of its own.

    `work` reads and writes tensors that exist before it, and it cannot tell from Python numbers how
    often it has run.
    """
    if _capture is None or not _capture.may_end_graph:
        for _ in range(times):
            work()
    else:
        _capture.repeat(times, work)


def end_graph() -> None:
    """End the graph that is being captured; the capture goes on in a new one."""
    if _capture is not None and _capture.may_end_graph:
        _capture.repeat(0, lambda: None)


class _Capture:
    """Records work as graphs, and replays each before the next is recorded. They share one memory
    pool, so later ones read what earlier ones have allocated.
    """

    def __init__(self) -> None:
        self._graphs: list[tuple[torch.cuda.CUDAGraph, int]] = []
        self._pool = torch.cuda.graph_pool_handle()
        self._open = contextlib.ExitStack()
        self.may_end_graph = True  # not within what is repeated

    def graphs_of(self, work: Callable[[], None]) -> list[tuple[torch.cuda.CUDAGraph, int]]:
        global _capture
        _capture = self
        try:
            with self._open:
                self._begin(times=1)
                work()
                self._end()
        finally:
            _capture = None
        return self._graphs

    def repeat(self, times: int, work: Callable[[], None]) -> None:
        self._end()
        if times:
            self.may_end_graph = False
            self._begin(times)
            work()
            self._end()
            self.may_end_graph = True
        self._begin(times=1)

    def _begin(self, times: int) -> None:
        graph = torch.cuda.CUDAGraph()
        # Other threads, such as those that read the GPU's load, may call the driver meanwhile.
        capturing = torch.cuda.graph(
            graph, self._pool, torch.cuda.current_stream(), capture_error_mode="thread_local"
        )
        self._open.enter_context(capturing)
        self._graphs.append((graph, times))

    def _end(self) -> None:
        self._open.close()
        replay(*self._graphs[-1])


_capture: _Capture | None = None  # the one under way
