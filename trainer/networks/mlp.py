"""Networks of linear layers, their first weights, and their memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from .noisy import NoisyLinear

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}


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
    linear: Callable[[int, int], nn.Module] = nn.Linear,
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
    """Weights and biases of linear layers uniform within 1 / sqrt(in), as torch's own are; noisy
    ones' means likewise.
    """
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, NoisyLinear)):
            bound = 1 / math.sqrt(layer.weight.shape[-1])
            layer.weight.uniform_(-bound, bound, generator=generator)
            layer.bias.uniform_(-bound, bound, generator=generator)


def init_orthogonal(network: nn.Sequential, last_gain: float, generator: torch.Generator) -> None:
    """Orthogonal weights of gain sqrt(2), `last_gain` for the last layer, and no biases.

    Source: Huang et al. 2022, "The 37 implementation details of PPO", detail 2.
    """
    linears = [layer for layer in network if isinstance(layer, nn.Linear)]
    for layer in linears:
        gain = last_gain if layer is linears[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
        nn.init.zeros_(layer.bias)
