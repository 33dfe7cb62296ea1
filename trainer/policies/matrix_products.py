"""Matrix products of float32 on the processor, by the faster of the two libraries in PyTorch.

PyTorch's own choice is MKL, which on processors other than Intel's does not use AVX-512. oneDNN
does, and takes half the time: `python benchmarks/products.py`. Its calls cost some microseconds
more, so that small products stay with PyTorch's choice.

On Intel's processors MKL divides a sum among threads, so that its rounding depends on their number,
unless MKL_CBWR is set in the environment before the first product of the process. It is set here
for them; products take as long with it. On AMD's, no value of it makes the products of all sizes
independent of the number of threads.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from llvmlite import binding
from torch import Tensor, nn

# Multiplications from which on oneDNN is faster, its longer start included.
LARGE = 2**23


_processor: Any = binding
_onednn_backend: Any = torch.backends.mkldnn
_is_amd = _processor.get_host_cpu_name().startswith("znver")
_features = _processor.get_host_cpu_features()

ONEDNN_IS_FASTER = _is_amd and _features.get("avx512f", False) and _onednn_backend.is_available()
if _features.get("avx2", False) and not _is_amd:
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


def _takes_onednn(a: Tensor, b: Tensor) -> bool:
    """For a [M, K] times b [K, N], by the sizes alone: threads and values change no result."""
    return (
        ONEDNN_IS_FASTER
        and a.shape[-2] * b.shape[-1] * b.shape[-2] >= LARGE
        and a.device.type == "cpu"
        and a.dtype == b.dtype == torch.float32
        and not torch.compiler.is_compiling()
    )


def _onednn(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b.mT, bias, "none", [], "")
    return product


def mm(a: Tensor, b: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`torch.mm`. Nothing is differentiated."""
    if not _takes_onednn(a, b):
        return torch.mm(a, b, out=out)
    product = _onednn(a, b, None)
    return product if out is None else out.copy_(product)


def addmm(bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """`torch.addmm` with a bias of one row. Nothing is differentiated."""
    return _onednn(a, b, bias) if _takes_onednn(a, b) else torch.addmm(bias, a, b)


def bmm(a: Tensor, b: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`torch.bmm`. Nothing is differentiated."""
    if not _takes_onednn(a, b):
        return torch.bmm(a, b, out=out)
    products = [_onednn(x, y, None) for x, y in zip(a, b, strict=True)]
    return torch.stack(products) if out is None else torch.stack(products, out=out)


def baddbmm(bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """`torch.baddbmm` with a bias [copies, 1, N]. Nothing is differentiated."""
    if not _takes_onednn(a, b):
        return torch.baddbmm(bias, a, b)
    return torch.stack([_onednn(x, y, z[0]) for x, y, z in zip(a, b, bias, strict=True)])


class Linear(nn.Linear):
    """`nn.Linear` with these products, forwards and backwards."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 2 or torch.is_autocast_enabled("cpu") or torch.compiler.is_exporting():
            return super().forward(input)
        if not _takes_onednn(input, self.weight.mT):
            return super().forward(input)
        products: Any = _Products
        output: Tensor = products.apply(input, self.weight, self.bias)
        return output


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        context.save_for_backward(x, weight)
        return addmm(bias, x, weight.mT)

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        (slope,) = slopes
        x, weight = context.saved_tensors
        by_x = mm(slope, weight) if context.needs_input_grad[0] else None
        return by_x, mm(slope.mT, x), slope.sum(0)
