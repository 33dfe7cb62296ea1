"""Compiled loops on several cores, and which number of threads is the fastest."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from ...shared.errors import OperantError

TICK_S = 0.05
_TRIALS = 3

# Calls a function for every piece of some work; gives what it returned, in the order of the pieces.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


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
        self._team: ThreadPoolExecutor | None = None  # of `each`, made when it is first wanted
        self._team_size = 0

    def run(self, loop: Callable[..., Any], *arguments: Any) -> Any:
        """Call `loop` with these arguments; returns its result."""
        return self._awaited(self._pool.submit(self._on_all_cores, loop, *arguments))

    def each(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterable[Any]:
        """The results of `function` for these pieces of PyTorch's work, in their order; several
        are under way at once. PyTorch has one thread in each, so that how sums are split, and
        so rounded, depends on the pieces alone.
        """
        if min(self.num_threads, len(pieces)) < 2:
            return map(function, pieces)
        return self._at_once(function, pieces)

    def call_tick(self) -> None:
        """Call `tick`, whatever it is set to by then."""
        self.tick()

    def count(self) -> int:
        """`num_threads` by then."""
        return self.num_threads

    def close(self) -> None:
        self._pool.shutdown()
        if self._team:
            self._team.shutdown()

    def _at_once(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        if not self._team or self._team_size != self.num_threads:
            if self._team:
                self._team.shutdown()
            self._team_size = self.num_threads
            self._team = ThreadPoolExecutor(self._team_size, "pieces")
        modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        submitted = (self._team.submit(_in_modes, modes, function, piece) for piece in pieces)
        futures = deque(submitted)
        try:
            while futures:  # what was given is not kept
                yield self._awaited(futures.popleft())
        finally:  # where one failed
            for future in futures:
                future.cancel()
            wait(futures)

    def _awaited(self, future: Future[Any]) -> Any:
        while True:
            with contextlib.suppress(TimeoutError):
                return future.result(TICK_S)
            if future.done():  # with a TimeoutError of its own
                return future.result()
            self.tick()

    def _on_all_cores(self, loop: Callable[..., Any], *arguments: Any) -> Any:
        loop_threads(self.num_threads)
        one_torch_thread()  # a new thread begins with all of them, whatever others were set to
        try:
            return loop(*arguments)
        finally:
            one_torch_thread()


def _in_modes(modes: tuple[bool, bool], function: Callable[[Any], Any], piece: Any) -> Any:
    """Call `function` in the modes of the calling thread: PyTorch keeps them for each thread."""
    one_torch_thread()
    inference, gradients = modes
    with torch.inference_mode(inference), torch.set_grad_enabled(gradients):
        return function(piece)


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
    count = num_shards(total, size)
    edges = [total * i // count for i in range(count + 1)]
    return np.array([edges[:-1], edges[1:]], np.int64).T.copy()


def num_shards(total: int, size: int) -> int:
    """How many near-equal parts of `total` come closest to `size` each: one at least."""
    return max(1, round(total / size))


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


@contextlib.contextmanager
def threads_kept() -> Iterator[None]:
    """Restore the caller's numbers of threads: operant sets PyTorch's to one."""
    num_torch, num_numba = torch.get_num_threads(), numba.get_num_threads()
    try:
        yield
    finally:
        numba.set_num_threads(num_numba)
        torch.set_num_threads(num_torch)


_has_broken_threads = False


def check_not_forked() -> None:
    """Raises OperantError in a process that was forked after compiled loops had run in several
    threads: GNU's OpenMP would end it at its first parallel loop.
    """
    if _has_broken_threads:
        raise OperantError(
            "this process was forked from one in which operant had trained, and its threads are "
            'not there: start it with multiprocessing.get_context("spawn"), or use detach=True'
        )


def _look_for_threads() -> None:
    global _has_broken_threads
    untyped: Any = numba
    try:
        _has_broken_threads = untyped.threading_layer() == "omp"
    except ValueError:  # none was needed so far
        _has_broken_threads = False


os.register_at_fork(after_in_child=_look_for_threads)
