"""What an environment brings for its observations, before the layers that learn from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from torch import Tensor, nn

from ..envs.spec import Spaces


class Encoder(Protocol):
    """A module from [B, obs_size] to [B, num_features]."""

    num_features: int

    def __call__(self, obs: Tensor) -> Tensor: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


def encoder_of(spec: Spaces, seed: int) -> Encoder | None:
    """An encoder of its own with weights drawn from `seed`, where the environment brings one."""
    make = getattr(spec, "make_encoder", None)
    encoder: Encoder | None = make(seed) if make else None
    return encoder
