"""Random numbers of one kind from those of another."""

from __future__ import annotations

import math

from torch import Tensor

MOST = 1 - 2.0**-23  # what the inverse still gives a finite number for, in float32


def symmetric(uniforms: Tensor) -> Tensor:
    """Numbers in [0, 1) to (-1, 1)."""
    return (2 * uniforms - 1).clamp(-MOST, MOST)


def normal_from(uniforms: Tensor) -> Tensor:
    """Uniform numbers in [0, 1) to standard normal ones, by the inverse of their distribution.

    x = sqrt(2) erfinv(2 u - 1)
    """
    return symmetric(uniforms).erfinv() * math.sqrt(2)
