"""Executors of an iteration: inline on the processor, or replayed from CUDA graphs on a GPU.

Both are given the same two functions, `collect` and `learn`, the second of which returns metrics.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor

from ..algorithms.algorithm import Algorithm, Metrics
from ..machine.staged_values import SpanTimer, StagedValues, event_maker
from ..machine.stopwatch import Stopwatch
from ..machine.thread_choice import ThreadChoice
from ..machine.threads import Threads

Collect = Callable[[], Any]
Learn = Callable[[], Metrics]
Values = Iterator[dict[str, float]]  # of finished iterations, by metric
Span = Callable[[str], contextlib.AbstractContextManager[Any]]

POLL_INTERVAL_S = 0.0002


def no_span(name: str) -> contextlib.AbstractContextManager[Any]:
    """What is around a phase while nobody looks."""
    return contextlib.nullcontext()


class Executor(Protocol):
    """Runs iterations."""

    device: torch.device
    tick: Callable[[], None]  # for while there is nothing to do but wait
    span: Span  # around each phase, by name

    @property
    def iteration(self) -> int:
        """Finished iterations, as far as is known."""

    @property
    def num_started(self) -> int:
        """Iterations begun."""

    def prepared(self) -> contextlib.AbstractContextManager[Any]:
        """What the parts of an experiment are made and loaded in."""

    def counter(self, start: int = 0) -> Any:
        """A number that `+= 1` changes wherever the work is done."""

    def work_done(self, algorithm: Algorithm) -> object:
        """A value that changes with every finished piece of work."""

    def take_notices(self) -> list[str]:
        """New notices about how iterations run, each returned once."""

    def iterate(
        self, collect: Collect, learn: Learn, stopwatch: Stopwatch, wait: bool, name: str = "learn"
    ) -> Values:
        """Start an iteration; gives the metrics of those that have finished, in order: all that
        were started where the caller wants to `wait`. Under one `name` `learn` always does the same
        work, and returns metrics of the same names.
        """

    def finish(self) -> Values:
        """Wait for all that was started; gives the metrics that are still to come."""

    def begin_at(self, iteration: int) -> None:
        """Go on after so many iterations."""

    def close(self) -> None: ...


class Inline:
    """Runs an iteration as it stands, on the processor or on whatever device its parts are on.

    `thread_choice`, if any, receives the time that each took.
    """

    def __init__(self, threads: Threads) -> None:
        self.threads, self.device = threads, torch.device("cpu")
        self.iteration = 0
        self.thread_choice: ThreadChoice | None = None
        self.span: Span = no_span
        self._notices: list[str] = []

    @property
    def num_started(self) -> int:
        return self.iteration

    @property
    def tick(self) -> Callable[[], None]:
        return self.threads.tick

    @tick.setter
    def tick(self, tick: Callable[[], None]) -> None:
        self.threads.tick = tick

    def prepared(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def counter(self, start: int = 0) -> int:
        return start

    def work_done(self, algorithm: Algorithm) -> object:
        return algorithm.work_done

    def take_notices(self) -> list[str]:
        taken, self._notices = self._notices, []
        return taken

    def iterate(
        self, collect: Collect, learn: Learn, stopwatch: Stopwatch, wait: bool, name: str = "learn"
    ) -> Values:
        start_s = time.perf_counter()
        with stopwatch.phase("collect"), self.span("collect"):
            collect()
        with stopwatch.phase("learn"), self.span("learn"):
            values = as_numbers(learn())
        self.iteration += 1
        if self.thread_choice and "optimizer/learning_rate" in values:  # it has learned something
            notice = self.thread_choice.iteration(time.perf_counter() - start_s)
            self._notices += [notice] if notice else []
        return iter((values,))

    def finish(self) -> Values:
        return iter(())

    def begin_at(self, iteration: int) -> None:
        self.iteration = iteration

    def close(self) -> None:
        self.threads.close()


class Graphs:
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
        self.device, self._asks_host = device, asks_host
        self.capture = device.type == "cuda" if capture is None else capture
        self.tick: Callable[[], None] = lambda: None
        self.span: Span = no_span
        self.iteration = self.num_started = 0
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

    def work_done(self, algorithm: Algorithm) -> object:
        return self.iteration  # all that the host knows

    def take_notices(self) -> list[str]:
        return []  # a GPU has no threads to choose from

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

    def begin_at(self, iteration: int) -> None:
        self.iteration = self.num_started = iteration

    def close(self) -> None:
        pass

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
        """What arrives until one more iteration can be started. Waits for all of them where the
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


def as_numbers(metrics: Metrics) -> dict[str, float]:
    return without_empty_means({name: float(value) for name, value in metrics.items()})


def without_empty_means(values: dict[str, float]) -> dict[str, float]:
    """Where no episode ended there is no mean of them."""
    if math.isnan(values.get("episode/return", 0.0)) and not values.get("episode/count"):
        del values["episode/return"], values["episode/length"]
    return values
