"""Lateral acceleration as one of 1024 tokens."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .constants import MAX_LATACCEL_M_PER_S2, VOCABULARY_SIZE

# float64: tokens decoded in float32 moved the mean cost by a fifth.
BINS = np.linspace(-MAX_LATACCEL_M_PER_S2, MAX_LATACCEL_M_PER_S2, VOCABULARY_SIZE)


class Tokenizer:
    """Between lataccels in m/s^2, float64, and tokens, int64, on one device."""

    def __init__(self, device: torch.device) -> None:
        self._bins = torch.from_numpy(BINS).to(device)

    def encode(self, lataccels: Tensor) -> Tensor:
        """The first bin that is not below, as `np.digitize(x, bins, right=True)` has it."""
        clipped = lataccels.clamp(-MAX_LATACCEL_M_PER_S2, MAX_LATACCEL_M_PER_S2)
        return torch.bucketize(clipped.contiguous(), self._bins, right=False)

    def decode(self, tokens: Tensor) -> Tensor:
        return self._bins[tokens]
