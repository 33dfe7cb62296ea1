"""Random numbers from counters, so that a captured graph draws others each time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..jit.kernel import Kernel
from ..jit.streams import UPDATES, unit
from ..machine.values import State
from .draws import normal_from

if TYPE_CHECKING:
    from .draws import Kind

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def uniform_one(i, arguments):
    """A random number in [0, 1) for element `i` of the draw that `count` says is next."""
    uniforms, count, seed = arguments
    number = np.uint64(count[0])
    uniforms[i] = unit(number & _LOW, number >> _HALF, i, seed, UPDATES)


KERNEL = Kernel(uniform_one, "any")


class CountedDraws:
    """Draws of one shape on one device, as `algorithms.draws.Draws`.

    Draw number k depends on the seed and k alone. `count` [1] int64 is the number of the next.
    """

    def __init__(self, kind: Kind, shape: tuple[int, ...], seed: int, device: torch.device) -> None:
        self._uniforms = torch.zeros(math.prod(shape), device=device)
        self._kind, self._shape, self._seed = kind, shape, np.uint64(seed)
        self.count = torch.zeros(1, dtype=torch.int64, device=device)

    def next(self) -> Tensor:
        KERNEL.launch(len(self._uniforms), self._uniforms, self.count, self._seed)
        self.count += 1
        drawn = normal_from(self._uniforms) if self._kind == "normal" else self._uniforms
        return drawn.view(self._shape)

    def state_dict(self) -> State:
        return {"count": int(self.count)}

    def load_state_dict(self, state: State) -> None:
        self.count.fill_(state["count"])
