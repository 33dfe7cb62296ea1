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
    parts: list[Any] = [part for part in module.modules() if hasattr(part, "precision")]
    before = [part.precision for part in parts]
    for part in parts:
        part.precision = torch.float32
    try:
        yield
    finally:
        for part, precision in zip(parts, before, strict=True):
            part.precision = precision


def in_precision(forward: F) -> F:
    """A network's `forward`, its products in the network's precision and its outputs float32."""

    @wraps(forward)
    def wrapped(self: Any, *inputs: Tensor) -> Tensor:
        outputs: Tensor
        if self.precision == torch.float32:
            outputs = forward(self, *inputs)
        else:
            with autocast(self.precision, inputs[0].device):
                outputs = forward(self, *inputs).float()
        return outputs

    return wrapped  # type: ignore[return-value]
