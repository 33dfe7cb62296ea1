"""operant's own kernels on emulated GPUs: the loop that the processor runs, on the device's memory.

This and `tests/support/gpu_runs.py` are all that knows how operant is made inside.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from .emulation import on_host, run_kernel


def install(module: ModuleType) -> None:
    """Have every launch of a `Kernel` run its processor's loop."""

    def launch(self: Any, size: int, *arguments: Any) -> None:
        if not module.any_on_gpu(arguments):
            self.on_processor(size, module.as_arrays(arguments))
            return
        loop, arrays = self.on_processor, _arrays(arguments)
        run_kernel(self._label, lambda: loop(size, arrays), list(_tensors(arguments)))

    module.Kernel.launch = launch  # type: ignore[attr-defined]


def _arrays(value: Any) -> Any:
    """Tensors as NumPy arrays of the same memory."""
    if isinstance(value, torch.Tensor):
        return (on_host(value) if value.is_cuda else value).numpy()
    if isinstance(value, tuple):
        parts = [_arrays(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _tensors(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _tensors(part)
