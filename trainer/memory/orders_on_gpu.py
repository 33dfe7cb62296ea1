"""Random orders of samples, from counters, so that a captured graph gives another each time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..jit.kernel import Kernel
from ..jit.streams import ORDERS, unit
from ..machine.values import State

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FIRST, _SECOND = np.uint64(0), np.uint64(1 << 31)
_FINE = 2.0**-24


def key_one(i, arguments):
    """A random number of 48 bits for sample `i` in the order that `count` says is next."""
    keys, count, seed = arguments
    number = np.uint64(count[0])
    high = number >> _HALF
    coarse = unit(number & _LOW, high | _FIRST, i, seed, ORDERS)
    keys[i] = coarse + _FINE * unit(number & _LOW, high | _SECOND, i, seed, ORDERS)


KERNEL = Kernel(key_one, "any")


class CountedOrders:
    """Orders of `num_samples` on one device, as `algorithms.minibatches.Orders`.

    Order number k depends on the seed and k alone. `count` [1] int64 is the number of the next.
    """

    def __init__(self, num_samples: int, seed: int, device: torch.device) -> None:
        self._keys = torch.zeros(num_samples, dtype=torch.float64, device=device)
        self._seed = np.uint64(seed)
        self.count = torch.zeros(1, dtype=torch.int64, device=device)

    def next(self, num_samples: int) -> Tensor:
        """The numbers 0 to `num_samples` - 1, all there are, in random order, int64."""
        KERNEL.launch(len(self._keys), self._keys, self.count, self._seed)
        self.count += 1
        return torch.sort(self._keys, stable=True).indices

    def state_dict(self) -> State:
        return {"num_orders": int(self.count)}

    def load_state_dict(self, state: State) -> None:
        self.count.fill_(state.get("num_orders", 0))  # a run that began on the processor has none
