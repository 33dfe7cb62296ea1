"""Products of networks in half precision, where a run wants that; all else stays float32."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

F = TypeVar("F", bound=Callable[..., Any])


def autocast(dtype: torch.dtype, device: torch.device) -> torch.autocast:
    """Products within are of `dtype`; without a cache, which a captured graph would outlive."""
    return torch.autocast(device.type, dtype, enabled=dtype != torch.float32, cache_enabled=False)


@contextlib.contextmanager
def in_float32(module: nn.Module) -> Iterator[None]:
    """All of `module` computes in float32 meanwhile."""
    before = {part: part.precision for part in module.modules() if hasattr(part, "precision")}
    for part in before:
        part.precision = torch.float32
    try:
        yield
    finally:
        for part, precision in before.items():
            part.precision = precision


def in_precision(forward: F) -> F:
    """A network's `forward`, its products in the network's precision and its outputs float32."""

    @wraps(forward)
    def wrapped(self: Any, *inputs: Tensor) -> Tensor:
        if self.precision == torch.float32:
            outputs: Tensor = forward(self, *inputs)
            return outputs
        with autocast(self.precision, inputs[0].device):
            return forward(self, *inputs).float()

    return wrapped  # type: ignore[return-value]
