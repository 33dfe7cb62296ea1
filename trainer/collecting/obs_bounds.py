"""Observations outside the bounds of their space: a notice, once for each part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..envs.spaces import named_leaves
from ..memory.rollout import Rollout
from ..policies.packed import numbers_of
from ..spaces import num_numbers
from ..spaces.encoders import Part

SLACK = 1e-5  # of a bound: float32 rounds


class Bounded(NamedTuple):
    """A part of observations and the bounds [size] of its numbers; `part` is None for the whole."""

    key: str
    part: Part | None
    low: Tensor
    high: Tensor


class ObsBounds:
    """Compares observations with their space. A part that was outside is not looked at again."""

    def __init__(self, spec: Any) -> None:
        """The environment of `spec` may have no space that is known: nothing is compared then."""
        self._size = num_numbers(spec)
        space = spec.obs_space
        leaves = [] if space is None else list(named_leaves(space))
        parts = spec.obs_parts or (None,) * len(leaves)
        self._bounded = [
            Bounded(key, part, _bound(each.low), _bound(each.high))
            for (key, each), part in zip(leaves, parts, strict=True)
            if hasattr(each, "low") and _can_be_outside(each, spec)
        ]

    def notices(self, rollout: Rollout) -> list[str]:
        """A line for each part that some observations of a rollout have outside."""
        if not self._bounded:
            return []
        ends = rollout.final_obs[rollout.dones]
        return [*self._outside(rollout.valid_of(rollout.obs[:-1])), *self._outside(ends)]

    def _outside(self, obs: Tensor) -> Iterator[str]:
        """A line for each part that some of `obs` [B, D] have outside."""
        if not len(obs):
            return
        for bounded in list(self._bounded):
            key, part, low, high = bounded
            numbers = obs[:, : self._size] if part is None else numbers_of(obs, part)
            least, most = (x.float() for x in numbers.aminmax(dim=0))
            below = least < low - SLACK * low.abs().clamp(min=1)
            above = most > high + SLACK * high.abs().clamp(min=1)
            if not (below | above).any():
                continue
            self._bounded.remove(bounded)
            number = int((below | above).int().argmax())
            value = (least if below[number] else most)[number]
            yield (
                f"an observation{key and ' ' + key} is outside of its space: number {number} is "
                f"{value:g}, and goes from {low[number]:g} to {high[number]:g}; it is used as it is"
            )


def _bound(bounds: Any) -> Tensor:
    return torch.from_numpy(np.asarray(bounds, np.float32).reshape(-1))


def _can_be_outside(space: Any, spec: Any) -> bool:
    """Whether rows of observations can have numbers beyond the bounds of one of their parts."""
    if spec.obs_type is np.uint8 and space.dtype == np.uint8:
        return bool(space.low.any() or (space.high != 255).any())
    return any(bool(np.isfinite(each).any()) for each in (space.low, space.high))
