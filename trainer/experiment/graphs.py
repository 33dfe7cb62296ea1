"""Runs iterations on a GPU: each is captured as CUDA graphs, which are replayed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor

from ..algorithms.algorithm import Metrics
from ..machine.staged_values import SpanTimer, StagedValues, event_maker
from ..machine.stopwatch import Stopwatch
from .experiment import Collect, Executor, Learn, Values, without_empty_means

POLL_INTERVAL_S = 0.0002


class Graphs(Executor):
    """Gives whole iterations to a device, and their numbers come back when they are there.

    The first runs as it stands, which compiles kernels; the second is captured, and replayed from
    then on. At most as many are under way as `StagedValues` has slots, so the device never waits
    for the host. Without `capture` all run as they stand: that is how the processor is tested.
    Work whose name is in `asks_host` always runs as it stands.
    """

    def __init__(
        self,
        device: torch.device,
        capture: bool | None = None,
        asks_host: Collection[str] = (),
    ) -> None:
        super().__init__(device)
        self._asks_host = asks_host
        self.capture = device.type == "cuda" if capture is None else capture
        make_stream: Any = torch.cuda.Stream
        self._stream = make_stream(device) if device.type == "cuda" else None
        self._replayed: dict[str, Any] = {}
        self._last_name = ""  # of the work that learns
        self._staged: dict[str, StagedValues] = {}  # by the name of the work that measures
        self._spans = SpanTimer(event_maker(device))

    def prepared(self) -> contextlib.AbstractContextManager[Any]:
        """Everything goes to one stream, which is not the default one: that cannot be captured."""
        return torch.cuda.stream(self._stream) if self._stream else contextlib.nullcontext()

    def counter(self, start: int = 0) -> Tensor:
        return torch.full((), float(start), dtype=torch.float64, device=self.device)

    def run(self, name: str, work: Callable[[], Any]) -> None:
        """Run `work`, always the same under that `name`, from its graph as soon as there is one:
        on the stream that is the present one.
        """
        from ..jit.graphs import Replayed  # only here a GPU is wanted

        if name not in self._replayed:
            can_be_captured = name not in self._asks_host
            self._replayed[name] = Replayed(work, self.capture and can_be_captured)
        self._replayed[name]()

    def iterate(
        self, collect: Collect, learn: Learn, stopwatch: Stopwatch, wait: bool, name: str = "learn"
    ) -> Values:
        stopwatch.said("learning")  # and collecting: the device does both faster than one can see
        arrived = self._arrived_until_there_is_room(name)
        self._collect(collect)
        with self.prepared():
            with self._spans.phase("learn"), self.span("learn"):
                self.run(name, lambda: self._measure(name, learn()))
            self.num_started += 1
            staged = self._staged[name]  # from the first run
            staged.stage(self.num_started, self._spans.take())
        arrived += staged.drain() if wait else staged.take()
        return self._finished(arrived)

    def finish(self) -> Values:
        return self._finished(self._drain())

    def _collect(self, collect: Collect) -> None:
        """Have a rollout collected, for what is given to the device's stream next."""
        with self.prepared():
            self._run_collect(collect)

    def _run_collect(self, collect: Collect) -> None:
        with self._spans.phase("collect"), self.span("collect"):
            self.run("collect", collect)

    def _measure(self, name: str, metrics: Metrics) -> None:
        """Write the metrics, still on the device, to where they are sent from."""
        if name not in self._staged:
            self._staged[name] = StagedValues(tuple(metrics), self.device)
        self._staged[name].values.copy_(stacked(metrics, self.device))

    def _arrived_until_there_is_room(self, name: str) -> list[tuple[int, dict[str, float]]]:
        """Values that arrive until one more iteration can be started. Waits for all of them if the
        last one had work of another name, which happens as learning begins.
        """
        if name != self._last_name:
            self._last_name = name
            return self._drain()
        staged = self._staged[name]
        arrived = staged.take()
        while not staged.has_room:
            self.tick()
            time.sleep(POLL_INTERVAL_S)
            arrived += staged.take()
        return arrived

    def _drain(self) -> list[tuple[int, dict[str, float]]]:
        return [arrived for staged in self._staged.values() for arrived in staged.drain()]

    def _finished(self, arrived: list[tuple[int, dict[str, float]]]) -> Values:
        for iteration, values in arrived:
            self.iteration = iteration
            yield without_empty_means(values)


def stacked(metrics: Metrics, device: torch.device) -> Tensor:
    """The metrics as one tensor [M] float64."""
    return torch.stack(
        [torch.as_tensor(x, dtype=torch.float64, device=device) for x in metrics.values()]
    )
