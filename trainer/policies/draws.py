"""Random numbers that updates draw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from ..machine.values import State

Kind = Literal["normal", "uniform"]

FOR_ROWS, FOR_POSITIVES = 1, 2  # what a part draws for by the side


class Draws(Protocol):
    """One draw after the other."""

    def next(self) -> Tensor:
        """The next draw, which the one after may take the memory of."""

    def state_dict(self) -> State:
        """What the next draw depends on."""

    def load_state_dict(self, state: State) -> None: ...


def side_seed(seed: int, purpose: int) -> int:
    """A seed below 2^32 for one purpose of the part that has `seed`; those of a run's parts are
    neighbours, and torch's generator on the processor ignores all higher bits.
    """
    return int(np.random.SeedSequence((seed, purpose)).generate_state(1)[0])


def make_draws(
    kind: Kind, shape: tuple[int, ...], seed: int, device: torch.device, is_inline: bool
) -> Draws:
    """Of one shape, on `device`: standard normal numbers, or uniform ones in [0, 1). What is
    captured cannot ask torch's generator.
    """
    if is_inline:
        return RandomDraws(kind, shape, seed)
    from .draws_on_gpu import CountedDraws  # only here numba-cuda is needed

    return CountedDraws(kind, shape, seed, device)


class RandomDraws:
    """Draws of torch's generator on the processor."""

    def __init__(self, kind: Kind, shape: tuple[int, ...], seed: int) -> None:
        self._shape, self._seed, self._num_drawn = shape, seed, 0
        self._draw = torch.randn if kind == "normal" else torch.rand
        self._generator = torch.Generator().manual_seed(seed)

    def next(self) -> Tensor:
        self._num_drawn += 1
        return self._draw(self._shape, generator=self._generator)

    def state_dict(self) -> State:
        return {"generator": self._generator.get_state(), "count": self._num_drawn}

    def load_state_dict(self, state: State) -> None:
        self._num_drawn = int(state["count"])
        set_generator(self._generator, state, self._seed, self._num_drawn)


MOST = 1 - 2.0**-23  # what the inverse still gives a finite number for, in float32


def symmetric(uniforms: Tensor) -> Tensor:
    """Numbers in [0, 1) to (-1, 1)."""
    return (2 * uniforms - 1).clamp(-MOST, MOST)


def normal_from(uniforms: Tensor) -> Tensor:
    """Uniform numbers in [0, 1) to standard normal ones, by the inverse of their distribution.

    x = sqrt(2) erfinv(2 u - 1)
    """
    return symmetric(uniforms).erfinv() * math.sqrt(2)


def set_generator(
    generator: torch.Generator, state: Mapping[str, Any], seed: int, count: int
) -> None:
    """Go on with the random numbers of `state`. One of another kind of device has none that could
    be gone on with: then with those of `seed` and of how far the run is, `count`, which were not
    drawn before.
    """
    kept = state.get("generator")
    if kept is not None and len(kept) == len(generator.get_state()):
        generator.set_state(kept)
    else:
        drawn = np.random.SeedSequence((seed, count)).generate_state(2)
        generator.manual_seed(int(drawn[0]) << 32 | int(drawn[1]))
