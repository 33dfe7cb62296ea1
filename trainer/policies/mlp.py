"""Networks of linear layers, their first weights and their memory, and products of networks in half
precision where a run wants that: all else stays float32.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from .matrix_products import Linear
from .noisy import NoisyLinear

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
