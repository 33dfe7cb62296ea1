"""operant's own kernels on emulated GPUs: the loop that the processor runs, on the device's memory.

This and `tests/support/gpu_runs.py` are all that knows how operant is made inside.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .emulation import run_kernel


def install(module: ModuleType) -> None:
    """Have every kernel run its processor's loop, where operant's own code launches it."""
    module.Kernel.on_gpu = property(Launcher)  # type: ignore[attr-defined]
    module.cuda.as_cuda_array = as_array  # type: ignore[attr-defined]
    module.cuda.external_stream = int  # type: ignore[attr-defined]


class Launcher:
    """A kernel, launched as Numba's are: `launcher[blocks, threads, stream](size, arrays)`."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, shape: tuple[int, int, int]) -> Callable[[int, Any], None]:
        blocks, threads, stream = shape

        def launch(size: int, arrays: Any) -> None:
            if blocks * threads < size:
                raise RuntimeError(f"{self._kernel._label}: {blocks * threads} threads for {size}")
            current = torch.cuda.current_stream().cuda_stream
            if stream != current:  # Numba's own default is 0, which nothing of PyTorch waits for
                raise RuntimeError(
                    f"{self._kernel._label} was launched on the stream {stream:#x}, "
                    f"and not on PyTorch's current one, {current:#x}"
                )
            loop = self._kernel.on_processor
            run_kernel(self._kernel._label, lambda: loop(size, arrays), _tensors(arrays))

        return launch


def as_array(owner: Any) -> NDArray[Any]:
    """A NumPy array on the memory of a device array, which Numba accepts in its place."""
    interface = owner.__cuda_array_interface__
    dtype, shape = np.dtype(interface["typestr"]), interface["shape"]
    strides = interface.get("strides")
    span = _num_bytes(shape, strides, dtype)
    memory = (ctypes.c_char * span).from_address(interface["data"][0]) if span else bytearray()
    return np.ndarray(shape, dtype, memory, 0, strides)


def _num_bytes(shape: Any, strides: Any, dtype: np.dtype[Any]) -> int:
    """From the first byte to the last."""
    if 0 in shape:
        return 0
    if strides is None:
        return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + dtype.itemsize


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The same memory as tensors of the processor."""
    if isinstance(value, np.ndarray):
        yield torch.from_numpy(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _tensors(part)
