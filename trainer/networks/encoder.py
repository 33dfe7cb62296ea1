"""What an environment brings for its observations, before the layers that learn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from torch import Tensor, nn

from ..envs.spec import Spaces


class Encoder(Protocol):
    """A module from [B, obs_size] to [B, num_features]."""

    num_features: int

    def __call__(self, obs: Tensor) -> Tensor: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


def encoder_of(spec: Spaces, seed: int) -> Encoder | None:
    """An encoder of its own, where the environment brings one. Its weights are of `seed`, and no
    repetition of those of layers with that seed.
    """
    return _made(getattr(spec, "make_encoder", None), seed, 1)


def embedding_of(spec: Spaces, seed: int, number: int = 0) -> Encoder | None:
    """What networks begin with where observations are no numbers to compute with; `number` tells
    apart those of one policy.
    """
    return _made(getattr(spec, "make_embedding", None), seed, 2 + number)


def _made(make: Callable[[int], Encoder] | None, seed: int, number: int) -> Encoder | None:
    if make is None:
        return None
    (own_seed,) = np.random.SeedSequence((seed, number)).generate_state(1)
    return make(int(own_seed))


def sizes_behind(encoder: Encoder | None, spec: Spaces, *sizes: int) -> tuple[int, ...]:
    """Of layers, from what they see on."""
    return (spec.obs_size if encoder is None else encoder.num_features, *sizes)


def begun_with(encoder: Encoder | None, layers: nn.Sequential) -> nn.Sequential:
    """The layers, behind the encoder where there is one."""
    if isinstance(encoder, nn.Module):
        layers.insert(0, encoder)
    return layers
