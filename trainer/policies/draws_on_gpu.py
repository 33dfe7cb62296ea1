"""Random numbers and orders from counters, so that a captured graph draws others each time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..jit.kernel import Kernel
from ..jit.streams import ORDERS, UPDATES, unit
from ..machine.values import State
from .noise import normal_from

if TYPE_CHECKING:
    from .draws import Kind

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FIRST, _SECOND = np.uint64(0), np.uint64(1 << 31)
_FINE = 2.0**-24


def uniform_one(i, arguments):
    """A random number in [0, 1) for element `i` of the draw that `count` says is next."""
    uniforms, count, seed = arguments
    number = np.uint64(count[0])
    uniforms[i] = unit(number & _LOW, number >> _HALF, i, seed, UPDATES)


def key_one(i, arguments):
    """A random number of 48 bits for sample `i` in the order that `count` says is next."""
    keys, count, seed = arguments
    number = np.uint64(count[0])
    high = number >> _HALF
    coarse = unit(number & _LOW, high | _FIRST, i, seed, ORDERS)
    keys[i] = coarse + _FINE * unit(number & _LOW, high | _SECOND, i, seed, ORDERS)


UNIFORM, KEY = Kernel(uniform_one, "any"), Kernel(key_one, "any")


class Counted:
    """Numbers [size] on a device that `kernel` fills anew: draw number k depends on the seed and k
    alone. `count` [1] int64 is the number of the next.
    """

    def __init__(self, kernel: Kernel, numbers: Tensor, seed: int) -> None:
        self._kernel, self._numbers, self._seed = kernel, numbers, np.uint64(seed)
        self.count = torch.zeros(1, dtype=torch.int64, device=numbers.device)

    def draw(self) -> Tensor:
        self._kernel.launch(len(self._numbers), self._numbers, self.count, self._seed)
        self.count += 1
        return self._numbers

    def state_dict(self) -> State:
        return {"count": int(self.count)}

    def load_state_dict(self, state: State) -> None:
        self.count.fill_(state["count"])


class CountedDraws(Counted):
    """`Draws` of one shape on a device."""

    def __init__(self, kind: Kind, shape: tuple[int, ...], seed: int, device: torch.device) -> None:
        super().__init__(UNIFORM, torch.zeros(math.prod(shape), device=device), seed)
        self._kind, self._shape = kind, shape

    def next(self) -> Tensor:
        uniforms = self.draw()
        return (normal_from(uniforms) if self._kind == "normal" else uniforms).view(self._shape)


class CountedOrders(Counted):
    """`Orders` of `num_samples` on a device."""

    def __init__(self, num_samples: int, seed: int, device: torch.device) -> None:
        super().__init__(KEY, torch.zeros(num_samples, dtype=torch.float64, device=device), seed)

    def next(self, num_samples: int) -> Tensor:
        """The numbers 0 to `num_samples` - 1, all there are, in random order, int64."""
        return torch.sort(self.draw(), stable=True).indices
