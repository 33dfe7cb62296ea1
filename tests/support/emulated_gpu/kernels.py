"""operant's own kernels on emulated GPUs: the loop that the processor runs, on the device's memory.

This and `tests/support/gpu_runs.py` are all that knows how operant is made inside.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .emulation import run_kernel


def install(module: ModuleType) -> None:
    """Have every launch of a `Kernel` run its processor's loop."""

    def launch(self: Any, size: int, *arguments: Any) -> None:
        loop, arrays = self.on_processor, module.as_arrays(arguments)
        if module.any_on_gpu(arguments):
            run_kernel(self._label, lambda: loop(size, arrays), _tensors(arguments))
        else:
            loop(size, arrays)

    module.Kernel.launch = launch  # type: ignore[attr-defined]
    module.cuda.as_cuda_array = as_array  # type: ignore[attr-defined]


def as_array(owner: Any) -> NDArray[Any]:
    """What Numba takes for an array of a GPU: of NumPy, on the same memory."""
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
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _tensors(part)
