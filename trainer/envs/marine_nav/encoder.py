"""The features of MarineNav's observations: of the robot itself, and of the objects it sees."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ...policies.mlp import init_default
from .constants import SEEN_OBJECTS
from .layout import MASK, OBJECT_SIZE, SELF_SIZE

SELF_FEATURES, OBJECT_FEATURES = 56, 40


class ObjectEncoder(nn.Module):
    """Observations [B, OBS_SIZE] to 256 features: 56 of the robot itself, and 40 of every object,
    nearest first, by layers that all objects share. Where the mask has no object they are 0.

    Source: Lin et al. 2024, arXiv:2412.09466.
    """

    num_features = SELF_FEATURES + SEEN_OBJECTS * OBJECT_FEATURES

    def __init__(self, seed: int) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__()
        self.itself = nn.Linear(SELF_SIZE, SELF_FEATURES)
        self.object = nn.Linear(OBJECT_SIZE, OBJECT_FEATURES)
        init_default(self, torch.Generator().manual_seed(seed))

    def forward(self, obs: Tensor) -> Tensor:
        itself, objects, mask = obs.split((SELF_SIZE, MASK - SELF_SIZE, SEEN_OBJECTS), -1)
        seen = self.object(objects.unflatten(-1, (SEEN_OBJECTS, OBJECT_SIZE))).relu()
        masked = (seen * mask.unsqueeze(-1)).flatten(-2)
        return torch.cat([self.itself(itself).relu(), masked], -1)
