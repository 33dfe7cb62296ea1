"""Random numbers and orders that updates draw: each draw depends on a seed and its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from ..machine.values import State

Kind = Literal["normal", "uniform"]

FOR_ROWS, FOR_POSITIVES = 1, 2  # what a part draws for by the side


class Draws(Protocol):
    """Random numbers of one shape, one draw after the other."""

    def next(self) -> Tensor:
        """The next draw; the draw after it may reuse its memory."""

    def state_dict(self) -> State:
        """The state that the next draw depends on."""

    def load_state_dict(self, state: State) -> None: ...


class Orders(Protocol):
    """Random orders of samples, one after the other."""

    def next(self, num_samples: int) -> Tensor:
        """The numbers 0 to `num_samples` - 1 in random order, int64."""

    def state_dict(self) -> State:
        """The state that the next order depends on."""

    def load_state_dict(self, state: State) -> None: ...


def side_seed(seed: int, purpose: int) -> int:
    """A seed below 2^32 for one purpose of the part that has `seed`; those of a run's parts are
    neighbours, and torch's generator on the processor ignores all higher bits.
    """
    return int(np.random.SeedSequence((seed, purpose)).generate_state(1)[0])


def make_draws(
    kind: Kind, shape: tuple[int, ...], seed: int, device: torch.device, is_inline: bool
) -> Draws:
    """Draws of one shape on `device`: standard normal numbers, or uniform ones in [0, 1). A
    captured graph cannot use torch's generator: unless `is_inline`, draws come from a counter.
    """
    if is_inline:
        return RandomDraws(kind, shape, seed)
    from .draws_on_gpu import CountedDraws  # only here numba-cuda is needed

    return CountedDraws(kind, shape, seed, device)


def make_orders(num_samples: int, seed: int, device: torch.device, is_inline: bool) -> Orders:
    """Orders of at most `num_samples` on `device`; unless `is_inline`, they come from a counter."""
    if is_inline:
        return RandomOrders(seed, device)
    from .draws_on_gpu import CountedOrders  # only here numba-cuda is needed

    return CountedOrders(num_samples, seed, device)


class OfGenerator:
    """A generator of torch's on the processor, and the number of draws so far."""

    def __init__(self, seed: int) -> None:
        self._generator, self._seed = torch.Generator().manual_seed(seed), seed
        self._num_drawn = 0

    def state_dict(self) -> State:
        return {"generator": self._generator.get_state(), "count": self._num_drawn}

    def load_state_dict(self, state: State) -> None:
        self._num_drawn = int(state["count"])
        set_generator(self._generator, state, self._seed, self._num_drawn)


class RandomDraws(OfGenerator):
    """Draws of one shape from torch's generator."""

    def __init__(self, kind: Kind, shape: tuple[int, ...], seed: int) -> None:
        super().__init__(seed)
        self._shape, self._draw = shape, torch.randn if kind == "normal" else torch.rand

    def next(self) -> Tensor:
        self._num_drawn += 1
        return self._draw(self._shape, generator=self._generator)


class RandomOrders(OfGenerator):
    """Orders from torch's generator, on `device`."""

    def __init__(self, seed: int, device: torch.device) -> None:
        super().__init__(seed)
        self._device = device

    def next(self, num_samples: int) -> Tensor:
        self._num_drawn += 1
        return torch.randperm(num_samples, generator=self._generator).to(self._device)


def set_generator(
    generator: torch.Generator, state: Mapping[str, Any], seed: int, count: int
) -> None:
    """Continue with the random numbers of `state`. A state that another kind of device saved has no
    generator to continue: then new numbers follow from `seed` and the number of draws so far.
    """
    kept = state.get("generator")
    if kept is not None and len(kept) == len(generator.get_state()):
        generator.set_state(kept)
    else:
        drawn = np.random.SeedSequence((seed, count)).generate_state(2)
        generator.manual_seed(int(drawn[0]) << 32 | int(drawn[1]))
