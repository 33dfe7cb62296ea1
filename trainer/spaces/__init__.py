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
    def some_agents_retire(self) -> bool:
        """Whether episodes of agents may end before those of others in the same environment."""
        return self.num_agents > 1 and self.agents_retire

    @property
    def is_own(self) -> bool:
        """Whether operant steps the environments itself, in compiled loops or on a GPU."""
        return self.stepped_by == "vector"


def obs_shape(spec: Spaces) -> tuple[int, ...]:
    """The shape of an observation in its environment; a row [obs_size] has it flattened, and behind
    it the action mask, if there is one.
    """
    return spec.obs_shape or (spec.obs_size - spec.mask_size,)


def num_numbers(spec: Spaces) -> int:
    """How many numbers an observation has, flattened, without an action mask."""
    return math.prod(obs_shape(spec))
