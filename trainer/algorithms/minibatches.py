"""Random orders of a rollout's samples, and minibatches of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from ..generators import set_generator


class Orders(Protocol):
    """One random order after the other."""

    def next(self, num_samples: int) -> Tensor:
        """The numbers 0 to `num_samples` - 1 in random order, int64."""

    def state_dict(self) -> dict[str, Any]:
        """What the next order depends on, under names of its own."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


def make_orders(num_samples: int, seed: int, device: torch.device, is_inline: bool) -> Orders:
    """Of at most `num_samples`, on `device`; what is captured cannot ask torch's generator."""
    if is_inline:
        return RandomOrders(seed, device)
    from ..cuda.orders import CountedOrders  # only here numba-cuda is needed

    return CountedOrders(num_samples, seed, device)


class RandomOrders:
    """Orders from torch's generator on the processor."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self._generator, self._device = torch.Generator().manual_seed(seed), device
        self._seed, self._num_drawn = seed, 0

    def next(self, num_samples: int) -> Tensor:
        self._num_drawn += 1
        return torch.randperm(num_samples, generator=self._generator).to(self._device)

    def state_dict(self) -> dict[str, Any]:
        return {"generator": self._generator.get_state(), "num_orders": self._num_drawn}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._num_drawn = int(state.get("num_orders", 0))
        set_generator(self._generator, state, self._seed, self._num_drawn)


def next_minibatches(orders: Orders, num_samples: int, num_minibatches: int) -> Tensor:
    """The samples in their next random order as equal minibatches [minibatches, size], int64.

    Where dead transitions leave a number that does not divide, the rest is left out.
    """
    num_minibatches = min(num_minibatches, num_samples)
    used = num_samples - num_samples % num_minibatches
    return orders.next(num_samples)[:used].view(num_minibatches, -1)
