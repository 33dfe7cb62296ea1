"""What an environment brings for its observations, before the layers that learn from them."""

from __future__ import annotations

from collections.abc import Iterator
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
    make = getattr(spec, "make_encoder", None)
    if make is None:
        return None
    (own_seed,) = np.random.SeedSequence((seed, 1)).generate_state(1)
    encoder: Encoder = make(int(own_seed))
    return encoder
