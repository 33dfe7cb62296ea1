"""Networks of linear layers, their first weights and their memory, and products of networks in half
precision where a run wants that: all else stays float32.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from llvmlite import binding
from torch import Tensor, nn

from .noisy import NoisyLinear

# PyTorch multiplies float32 matrices by MKL, which on processors other than Intel's does not use
# AVX-512. oneDNN does, and takes half the time (benchmarks/products.py), but its calls cost some
# microseconds more. So it takes products of this many multiplications or more.
LARGE = 2**23

_processor: Any = binding
_onednn_backend: Any = torch.backends.mkldnn
_is_amd = _processor.get_host_cpu_name().startswith("znver")
_features = _processor.get_host_cpu_features()

ONEDNN_IS_FASTER = _is_amd and _features.get("avx512f", False) and _onednn_backend.is_available()
if _features.get("avx2", False) and not _is_amd:
    # On Intel's processors MKL divides a sum among threads, so that its rounding depends on their
    # number, unless this is set before the first product of the process. Products take as long with
    # it. On AMD's no value of it makes products of all sizes independent of the number of threads.
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


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}

F = TypeVar("F", bound=Callable[..., Any])


class LayerNorm(nn.LayerNorm):
    """In float32 whatever the precision of products, as autocast has it on a GPU and not on the
    processor.
    """

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.float())


@torch.no_grad()
def flattened(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Move parameters side by side into one tensor [P], and return it."""
    flat = torch.cat([parameter.flatten() for parameter in parameters])
    place = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = flat[place : place + size].view_as(parameter)
        place += size
    return flat


def make_mlp(
    sizes: Sequence[int],
    activation: type[nn.Module],
    layer_norm: bool = False,
    *,
    linear: Callable[[int, int], nn.Module] = Linear,
    is_last: bool = True,
) -> nn.Sequential:
    """Layers of these sizes, each but the last with `activation` after it, and with a layer norm
    between the two where asked for. Unless these are the network's last ones, that has both too.
    """
    pairs = list(itertools.pairwise(sizes))
    layers: list[nn.Module] = []
    for inputs, outputs in pairs[:-1] if is_last else pairs:
        norm = [LayerNorm(outputs)] if layer_norm else []
        layers += [linear(inputs, outputs), *norm, activation()]
    return nn.Sequential(*layers, *(linear(*pair) for pair in pairs[-1:] if is_last))


@torch.no_grad()
def init_default(module: nn.Module, generator: torch.Generator) -> None:
    """Draw the weights and biases of linear layers and convolutions, and the means of noisy layers,
    uniformly within 1 / sqrt(in), like PyTorch.
    """
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d, NoisyLinear)):
            bound = 1 / math.sqrt(layer.weight[0].numel())
            layer.weight.uniform_(-bound, bound, generator=generator)
            assert layer.bias is not None
            layer.bias.uniform_(-bound, bound, generator=generator)


def init_orthogonal(network: nn.Sequential, last_gain: float, generator: torch.Generator) -> None:
    """Orthogonal weights of gain sqrt(2), `last_gain` for the last layer, and no biases.

    Source: Huang et al. 2022, "The 37 implementation details of PPO", detail 2.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, (nn.Linear, nn.Conv2d))]
    for layer in layers:
        gain = last_gain if layer is layers[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
        assert layer.bias is not None
        nn.init.zeros_(layer.bias)


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
