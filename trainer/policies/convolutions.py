"""Convolutional networks from images [B, channels, height, width] to features."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from ..spaces.encoders import Image
from .mlp import LayerNorm, Linear


def nature(image: Image, layer_norm: bool) -> nn.Sequential:
    """Three convolutions and a layer of 512. Source: Mnih et al. 2015, doi:10.1038/nature14236."""
    layers = _convolutions((image.channels, 32, 64, 64), ((8, 4), (4, 2), (3, 1)), layer_norm)
    return _with_features(layers, image, 512, layer_norm)


def minatar(image: Image, layer_norm: bool) -> nn.Sequential:
    """A 3 x 3 convolution of 16 and a layer of 128. Source: Young and Tian 2019, arXiv:1903.03176,
    section 4.
    """
    return _with_features(
        _convolutions((image.channels, 16), ((3, 1),), layer_norm), image, 128, layer_norm
    )


def impala(image: Image, layer_norm: bool) -> nn.Sequential:
    """Three stages of a convolution, pooling and two residual blocks, and a layer of 256.

    Source: Espeholt et al. 2018, arXiv:1802.01561, figure 3, the large network without its LSTM.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise((image.channels, 16, 32, 32)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), *_norm(outputs, layer_norm)]
        layers += [nn.MaxPool2d(3, stride=2, padding=1), Residual(outputs), Residual(outputs)]
    return _with_features([*layers, nn.ReLU()], image, 256, layer_norm)


class Residual(nn.Module):
    """x + conv(relu(conv(relu(x))))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x.relu()).relu())
        return x + y


CONVOLUTIONS: dict[str, Callable[[Image, bool], nn.Sequential]] = {
    "nature": nature,
    "impala": impala,
    "minatar": minatar,
}


def has_convolutions(parameters: Iterable[Tensor]) -> bool:
    """Whether a network with these weights has any: theirs are the only ones with four axes."""
    return any(parameter.dim() == 4 for parameter in parameters)


def _convolutions(
    channels: Sequence[int], kernels: Sequence[tuple[int, int]], layer_norm: bool
) -> list[nn.Module]:
    """`kernels` are sizes and strides."""
    layers: list[nn.Module] = []
    for (inputs, outputs), (size, stride) in zip(
        itertools.pairwise(channels), kernels, strict=True
    ):
        conv = nn.Conv2d(inputs, outputs, size, stride)
        layers += [conv, *_norm(outputs, layer_norm), nn.ReLU()]
    return layers


def _norm(channels: int, layer_norm: bool) -> list[nn.Module]:
    """Layer norm over all of an image, with a gain for each channel."""
    return [nn.GroupNorm(1, channels)] if layer_norm else []


def _with_features(
    layers: Sequence[nn.Module], image: Image, num_features: int, layer_norm: bool
) -> nn.Sequential:
    """`layers`, and a linear one on all that they give."""
    with torch.no_grad():
        shape = (1, image.channels, image.height, image.width)
        size = nn.Sequential(*layers)(torch.zeros(shape)).numel()
    norm = [LayerNorm(num_features)] if layer_norm else []
    return nn.Sequential(*layers, nn.Flatten(), Linear(size, num_features), *norm, nn.ReLU())
