"""A scalar function as a kernel: one thread per index on a GPU, a compiled loop on the processor.

The source of both is the same. On a GPU a launch goes to PyTorch's current stream, copies nothing,
allocates nothing and waits for nothing, so that it can be captured in a graph; the first launch of
each kernel compiles it and must come before that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba
import torch
from numba import cuda
from torch import Tensor

from .compiling import compiled, specialised
from .templates import declared, rebound

# Few environments are spread over as many multiprocessors as there are.
FEW_THREADS, FEW = 32, 2**14
MANY_THREADS = 128

IN_SIMULATOR = bool(numba.config.ENABLE_CUDASIM)  # type: ignore[attr-defined]

numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]


@declared
def body(i, arguments):
    """The work for one index `i`."""


def thread_template(size, arguments):
    i = cuda.grid(1)
    if i < size:
        body(i, arguments)


def loop_template(size, arguments):
    for i in range(size):
        body(i, arguments)


class Kernel:
    """`body(i, arguments)` for every i below a size, in any order.

    `bindings` are the open names of `body` and of the functions that it calls. `thread` and `loop`
    may replace the templates that call the body, if it needs local memory.
    """

    def __init__(
        self,
        function: Callable[..., None],
        label: str,
        *,
        thread: Callable[..., None] = thread_template,
        loop: Callable[..., None] = loop_template,
        **bindings: Any,
    ) -> None:
        self._function, self._label = function, f"{function.__name__}_{label}"
        self._thread, self._loop, self._bindings = thread, loop, bindings

    def launch(self, size: int, *arguments: Any) -> None:
        """Run the body for 0 to `size` - 1 on the device of the tensors among `arguments`.

        Arguments are tensors, NumPy scalars and named tuples of them; the body gets one tuple.
        """
        if not (IN_SIMULATOR or any_on_gpu(arguments)):
            self.on_processor(size, as_arrays(arguments))
            return
        threads = FEW_THREADS if size <= FEW else MANY_THREADS
        blocks = (size + threads - 1) // threads
        self.on_gpu[blocks, threads, launch_stream()](size, as_arrays(arguments))

    @cached_property
    def on_processor(self) -> Callable[..., None]:
        """The compiled loop."""
        function = rebound(self._function, compiled, self._bindings)
        return specialised(
            self._loop, self._label, **self._bindings, **self._named(compiled(function))
        )

    @cached_property
    def on_gpu(self) -> Any:
        """The kernel, compiled for every new signature."""
        return cuda.jit(self.thread_function())

    def thread_function(self) -> Callable[..., None]:
        """The code of one thread, as Python; the functions that it calls are device functions."""
        names = {**self._bindings, **self._named(self._function)}
        return rebound(self._thread, cuda.jit(device=True), names)

    def _named(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The body under the names by which a loop or a thread may call it."""
        return {"body": function, self._function.__name__: function}


def launch_stream() -> Any:
    """PyTorch's current stream as a stream of Numba."""
    if IN_SIMULATOR:
        return 0
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream)


def as_arrays(value: Any) -> Any:
    """Tensors as the arrays that compiled code takes: the same memory, no copies."""
    if isinstance(value, Tensor):
        return cuda.as_cuda_array(value) if value.is_cuda else value.numpy()
    if isinstance(value, tuple):
        parts = [as_arrays(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def any_on_gpu(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(any_on_gpu(part) for part in value)
    return isinstance(value, Tensor) and value.is_cuda
