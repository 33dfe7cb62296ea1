"""The features of MarineNav's observations: of the robot itself, and of the objects it sees."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...policies.encoder import Encoder
from ...policies.mlp import init_default
from . import kinematic, sonar
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


class PartsEncoder(nn.Module):
    """Observations [B, D] to features of each part of them, by a layer each.

    Sources: Lin et al. 2024, arXiv:2402.11799, of kinematic vessels; Lin et al. 2023,
    arXiv:2307.16240, of one with a sonar, whose layers have no activation.
    """

    def __init__(
        self, sizes: Sequence[int], num_features: Sequence[int], seed: int, is_linear: bool = False
    ) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__()
        self.sizes, self.num_features = tuple(sizes), sum(num_features)
        pairs = zip(sizes, num_features, strict=True)
        self.parts = nn.ModuleList(nn.Linear(*pair) for pair in pairs)
        self.activation = nn.Identity() if is_linear else nn.ReLU()
        init_default(self, torch.Generator().manual_seed(seed))

    def forward(self, obs: Tensor) -> Tensor:
        pairs = zip(self.parts, obs.split(self.sizes, -1), strict=True)
        return torch.cat([self.activation(layer(part)) for layer, part in pairs], -1)


def encoder_for(vessels: str, seed: int) -> Encoder:
    """The authors' encoder for what vessels of a kind observe."""
    if vessels == "kinematic":
        obstacles = kinematic.FIRST_SEEN_ROBOT - kinematic.OWN_SIZE
        others = kinematic.OBS_SIZE - kinematic.FIRST_SEEN_ROBOT
        return PartsEncoder((kinematic.OWN_SIZE, obstacles, others), (32, 120, 160), seed)
    if vessels == "sonar":
        beams = 2 * sonar.NUM_BEAMS
        return PartsEncoder((2, 2, beams), (16, 16, 176), seed, is_linear=True)
    return ObjectEncoder(seed)
