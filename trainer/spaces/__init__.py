"""Spaces of observations and actions: what a policy needs to know of an environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Discrete:
    """One of `n` actions. The environment counts them from `start`, policies from 0."""

    n: int
    start: int = 0


@dataclass(frozen=True)
class MultiDiscrete:
    """Several choices at once: choice i is one of `nvec[i]`. Actions are [N, choices].

    The environment counts choice i from `start[i]`, or from 0 if `start` is empty; policies count
    from 0.
    """

    nvec: tuple[int, ...]
    start: tuple[int, ...] = ()


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


def choices_of(actions: ActionSpec) -> tuple[int, ...]:
    """The number of options of each choice; empty if actions are real numbers."""
    if isinstance(actions, Discrete):
        return (actions.n,)
    return actions.nvec if isinstance(actions, MultiDiscrete) else ()


def starts_of(actions: ActionSpec) -> tuple[int, ...]:
    """The environment's number of the first option of each choice."""
    if isinstance(actions, Discrete):
        return (actions.start,)
    return getattr(actions, "start", ()) or (0,) * len(choices_of(actions))


ObsType = type[np.float32] | type[np.uint8]

ANY_NUMBERS = -math.inf, math.inf


@dataclass(frozen=True)
class Spaces:
    """The description of an environment: what policies, collectors and plans need to know of it.

    `obs_size` is the length of a row of observations, `obs_type` float32, or uint8 for images and
    tokens. `obs_shape` is the shape of an observation before it is flattened, () for vectors;
    `obs_range` has the smallest and the largest number in one. `obs_parts` are the `encoders.Part`
    of dictionaries and tuples, and `obs_stack` counts the frames of an observation.

    With a `mask_size` the last so many of the `obs_size` numbers of a row are an action mask: 1 for
    each legal choice and 0 for the others, those of `MultiDiscrete` one after the other.

    `agents_retire` is False where the episodes of all agents of an environment end at once.
    `make_encoder(seed)` returns a PyTorch module that networks begin with: from observations
    [..., obs_size] to `num_features` features, before the layers that are configured.

    `host` names the object in `envs.hosts.HOSTS` that makes the environments, `stepped_by` what
    steps them: vector, gymnasium, mjbatch, workers or routes. `obs_space` and `action_space` are
    those of Gymnasium, where the environment has them.
    """

    name: str
    obs_size: int
    actions: ActionSpec
    num_agents: int = 1
    obs_type: ObsType = np.float32
    obs_shape: tuple[int, ...] = ()
    obs_range: tuple[float, float] = ANY_NUMBERS
    obs_parts: tuple[Any, ...] = ()
    obs_stack: int = 1
    mask_size: int = 0
    agents_retire: bool = True
    make_encoder: Callable[[int], Any] | None = None
    host: str = "operant"
    stepped_by: str = "vector"
    obs_space: Any = field(default=None, compare=False)
    action_space: Any = field(default=None, compare=False)

    @property
    def is_own(self) -> bool:
        """Whether operant steps the environments itself, in compiled loops or on a GPU."""
        return self.stepped_by == "vector"


def obs_shape(spec: Any) -> tuple[int, ...]:
    """The shape of an observation in its environment; a row [obs_size] has it flattened, and behind
    it the action mask, if there is one.
    """
    found: tuple[int, ...] = getattr(spec, "obs_shape", ())
    return found or (spec.obs_size - mask_size(spec),)


def num_numbers(spec: Any) -> int:
    """How many numbers an observation has, flattened, without an action mask."""
    return math.prod(obs_shape(spec))


def mask_size(spec: Any) -> int:
    """The number of entries of an action mask at the end of each row of observations, 1 for a legal
    choice and 0 for another; 0 without masks.
    """
    found: int = getattr(spec, "mask_size", 0)
    return found


def obs_stack(spec: Any) -> int:
    """How many frames an observation is known to be a stack of, oldest first; 1 for no stack.
    Episodes begin with the first frame over and over.
    """
    found: int = getattr(spec, "obs_stack", 1)
    return found


def obs_range(spec: Any) -> tuple[float, float]:
    """The smallest and the largest number that observations may have, as far as is known."""
    found: tuple[float, float] = getattr(spec, "obs_range", ANY_NUMBERS)
    return found


def obs_type(spec: Any) -> ObsType:
    """What observations are kept as: float32, unless an environment's are bytes."""
    found: ObsType = getattr(spec, "obs_type", np.float32)
    return found
