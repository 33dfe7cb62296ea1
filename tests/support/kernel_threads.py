"""Kernels with every access to memory watched, in whatever order their threads run.

`watch` runs the scalar functions in Python, a thread after the other in random order: an index
outside of its array is an error, and so is a race, an address that two threads of one launch touch
and one of them writes. Kernels of operant have no atomics.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from operant.trainer.jit import kernel as kernels
from operant.trainer.jit.kernel import Kernel, as_arrays
from operant.trainer.jit.templates import rebound

# All threads of one row find the same, from errors that no thread writes, and write it; whether the
# row's leaf is above 0 does not change. The other two add up the same leaves to the same sums.
WRITE_THE_SAME = ("replace_one_replay", "sum_my_part_one_replay", "sum_my_block_one_replay")


class AccessError(AssertionError):
    """A thread touches memory that it must not touch."""


class Accesses:
    """Who touched which address in one launch."""

    def __init__(self, label: str) -> None:
        self.label, self.thread = label, -1
        self._readers: dict[int, set[int]] = {}
        self._writers: dict[int, dict[int, Any]] = {}

    def read(self, address: int) -> None:
        self._readers.setdefault(address, set()).add(self.thread)

    def write(self, address: int, value: Any) -> None:
        self._writers.setdefault(address, {})[self.thread] = value

    def check(self) -> None:
        """Raises AccessError where two threads race."""
        for address, values in self._writers.items():
            threads = sorted(values.keys() | self._readers.get(address, set()))
            if len(threads) == 1:
                continue
            written = np.array(list(values.values()), np.float64)
            if self.label in WRITE_THE_SAME and len(np.unique(written)) == 1:
                continue
            raise AccessError(f"{self.label}: threads {threads} race, {sorted(values)} write")


class Watched:
    """An array that reports which elements are read and written, and refuses those it has not."""

    def __init__(self, array: Any, accesses: Accesses) -> None:
        self._array, self._accesses = array, accesses
        self.shape, self.ndim, self.dtype, self.size = (
            array.shape, array.ndim, array.dtype, array.size,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        value = self._array[self._within(index)]
        if isinstance(value, np.ndarray):
            return Watched(value, self._accesses)
        self._accesses.read(self._address(index))
        return value

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[self._within(index)] = value
        self._accesses.write(self._address(index), self._array[index])

    def _within(self, index: Any) -> Any:
        places = index if isinstance(index, tuple) else (index,)
        for place, size in zip(places, self.shape, strict=False):
            if not isinstance(place, slice) and not 0 <= place < size:
                raise AccessError(
                    f"{self._accesses.label}: thread {self._accesses.thread} touches {index} of "
                    f"an array of shape {self.shape}"
                )
        return index

    def _address(self, index: Any) -> int:
        places = index if isinstance(index, tuple) else (index,)
        strides = zip(places, self._array.strides, strict=True)
        return int(self._array.ctypes.data) + sum(int(i) * stride for i, stride in strides)


class Launches:
    """Counts launches, by the label of each kernel."""

    def __init__(self) -> None:
        self.count: dict[str, int] = {}

    def add(self, kernel: Kernel, size: int) -> None:
        assert size > 0, f"{kernel._label}: a GPU refuses a launch without threads"
        self.count[kernel._label] = self.count.get(kernel._label, 0) + 1


def watch(monkeypatch: Any, seed: int = 0) -> Launches:
    """Have all launches run thread by thread in Python, in random order, and checked."""
    launches, random = Launches(), np.random.default_rng(seed)
    functions: dict[Kernel, Any] = {}

    def launch(kernel: Kernel, size: int, *arguments: Any) -> None:
        launches.add(kernel, size)
        accesses = Accesses(kernel._label)

        def threads(count: int) -> Iterator[int]:
            assert count == size
            for thread in random.permutation(count):
                accesses.thread = int(thread)
                yield int(thread)

        if kernel not in functions:
            functions[kernel] = python_loop(kernel)
        loop = functions[kernel]
        loop.__globals__["range"] = threads
        with np.errstate(over="ignore"):
            loop(size, watched(as_arrays(arguments), accesses))
        accesses.check()

    monkeypatch.setattr(Kernel, "launch", launch)
    return launches


def python_loop(kernel: Kernel) -> FunctionType:
    """The loop over threads that the processor compiles, not compiled: its own `range` may be
    replaced, for the functions that it calls have globals of their own.
    """
    body = rebound(kernel._function, _as_it_is, kernel._bindings)
    loop: Any = rebound(kernel._loop, _as_it_is, {**kernel._bindings, **kernel._named(body)})
    return loop


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def watched(value: Any, accesses: Accesses) -> Any:
    if isinstance(value, np.ndarray):
        return Watched(value, accesses)
    if isinstance(value, tuple):
        parts = [watched(part, accesses) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def block_size(monkeypatch: Any, size: int) -> None:
    """Have the simulator run blocks of so many threads, blocks and threads in random order."""
    from numba.cuda.simulator import kernel as simulator

    random = np.random.default_rng(size)

    class Shuffled:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def ndindex(self, *shape: int) -> Any:
            places = list(np.ndindex(*shape))
            random.shuffle(places)
            return builtins.map(tuple, places)

    monkeypatch.setattr(simulator, "np", Shuffled())
    monkeypatch.setattr(kernels, "FEW_THREADS", size)
