"""Spaces of observations and actions: what a policy needs to know of an environment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True)
class Discrete:
    """Actions 0 to `n` - 1."""

    n: int


@dataclass(frozen=True)
class MultiDiscrete:
    """Several choices at once: choice i is one of 0 to `nvec[i]` - 1. Actions are [N, choices]."""

    nvec: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """Real numbers, each within its own bounds. Actions are [N, action_size] float32."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def action_size(self) -> int:
        return len(self.low)


def symmetric_box(*high: float) -> Box:
    """From minus these bounds to plus these."""
    return Box(tuple(-bound for bound in high), high)


ActionSpec = Discrete | MultiDiscrete | Box


class Spaces(Protocol):
    """What a policy needs to know of an environment."""

    @property
    def obs_size(self) -> int: ...

    @property
    def actions(self) -> ActionSpec: ...


ObsType = type[np.float32] | type[np.uint8]


ANY_NUMBERS = -math.inf, math.inf


def obs_shape(spec: Any) -> tuple[int, ...]:
    """The shape of an observation in its environment; a row has it flattened, [obs_size]."""
    found: tuple[int, ...] = getattr(spec, "obs_shape", ())
    return found or (spec.obs_size,)


def obs_range(spec: Any) -> tuple[float, float]:
    """The smallest and the largest number that observations may have, as far as is known."""
    found: tuple[float, float] = getattr(spec, "obs_range", ANY_NUMBERS)
    return found


def obs_type(spec: Any) -> ObsType:
    """What observations are kept as: float32, unless an environment's are bytes."""
    found: ObsType = getattr(spec, "obs_type", np.float32)
    return found
