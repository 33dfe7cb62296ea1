"""Work that is recorded once and replayed as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable

import torch


class Replayed:
    """`work`, run as it stands the first time, captured the second and replayed from then on.

    The first run compiles kernels and lets libraries allocate what they need, which a capture must
    not. Capturing waits for the GPU; replaying never does. Without `capture` every run is like the
    first: that is how the processor runs the same work.
    """

    def __init__(self, work: Callable[[], None], capture: bool) -> None:
        self._work, self._capture = work, capture
        self._graph: torch.cuda.CUDAGraph | None = None
        self.num_runs = 0

    def __call__(self) -> None:
        if not self._capture or self.num_runs == 0:
            self._work()
        else:
            if self._graph is None:
                self._graph = self._captured()
            self._graph.replay()
        self.num_runs += 1

    def _captured(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        # Threads of others, as those that watch the GPU's load, may call the driver meanwhile.
        with torch.cuda.graph(
            graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"
        ):
            self._work()
        return graph
