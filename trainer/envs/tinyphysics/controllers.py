"""Controllers that need no training."""

from __future__ import annotations

import torch
from torch import Tensor

from .constants import PID_GAINS
from .simulator import Simulation


class Zero:
    """Never steers."""

    def begin(self, simulation: Simulation) -> None:
        pass

    def actions(self, simulation: Simulation, step: int) -> Tensor:
        running = simulation.num_running(step)
        return torch.zeros(running, dtype=torch.float64, device=simulation.device)


class Pid:
    """The challenge's baseline: gains on the error, its sum and its difference, per call."""

    def begin(self, simulation: Simulation) -> None:
        self._sum = torch.zeros(
            simulation.num_routes, dtype=torch.float64, device=simulation.device
        )
        self._former = torch.zeros_like(self._sum)

    def actions(self, simulation: Simulation, step: int) -> Tensor:
        n = simulation.num_running(step)
        error = simulation.targets[step, :n] - simulation.lataccels[step - 1, :n]
        self._sum[:n] += error
        difference = error - self._former[:n]
        self._former[:n] = error
        p, i, d = PID_GAINS
        actions: Tensor = p * error + i * self._sum[:n] + d * difference
        return actions
