"""Networks of linear layers, their first weights, and their memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}


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
    sizes: Sequence[int], activation: type[nn.Module], layer_norm: bool = False
) -> nn.Sequential:
    """Linear layers of these sizes, each but the last with `activation` after it, and with a layer
    norm between the two where asked for.
    """
    *hidden, last = itertools.pairwise(sizes)
    layers: list[nn.Module] = []
    for inputs, outputs in hidden:
        norm = [nn.LayerNorm(outputs)] if layer_norm else []
        layers += [nn.Linear(inputs, outputs), *norm, activation()]
    return nn.Sequential(*layers, nn.Linear(*last))


def init_orthogonal(network: nn.Sequential, last_gain: float, generator: torch.Generator) -> None:
    """Orthogonal weights of gain sqrt(2), `last_gain` for the last layer, and no biases.

    Source: Huang et al. 2022, "The 37 implementation details of PPO", detail 2.
    """
    linears = [layer for layer in network if isinstance(layer, nn.Linear)]
    for layer in linears:
        gain = last_gain if layer is linears[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
        nn.init.zeros_(layer.bias)
