"""What an episode costs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .constants import CONTROL_START, COST_END, LATACCEL_COST_WEIGHT, STEP_S


@dataclass(frozen=True)
class Costs:
    """Costs of each episode, [N] float64 on the processor."""

    lataccel: Tensor
    jerk: Tensor

    @property
    def total(self) -> Tensor:
        return LATACCEL_COST_WEIGHT * self.lataccel + self.jerk


def episode_costs(targets: Tensor, lataccels: Tensor, num_rows: Tensor) -> Costs:
    """Costs of `lataccels` against `targets`, both [T, N], over the rows that count.

        lataccel = 100 * mean((target - current)^2)
        jerk     = 100 * mean((diff(current) / 0.1)^2)

    `num_rows` [N] is the length of each route: rows from it on do not count. Where only one row
    does, the jerk cost is 0.
    """
    targets, lataccels = targets[CONTROL_START:COST_END], lataccels[CONTROL_START:COST_END]
    window = (num_rows - CONTROL_START).clamp(max=len(targets))
    row = torch.arange(len(targets), device=targets.device).unsqueeze(1)
    errors = torch.where(row < window, (targets - lataccels) ** 2, 0.0)
    jerks = torch.where(row[1:] < window, (lataccels.diff(dim=0) / STEP_S) ** 2, 0.0)
    return Costs(
        (100 * errors.sum(0) / window).cpu(),
        (100 * jerks.sum(0) / (window - 1).clamp(min=1)).cpu(),
    )
