"""What is added to actions on [-1, 1] to explore."""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn


class Exploration(Protocol):
    """Actions [N, A] and standard normal numbers [N, A] to explored actions [N, A] on [-1, 1]."""

    has_lasting_noise: bool

    def __call__(self, actions: Tensor, noise: Tensor) -> Tensor: ...

    def forget(self, dones: Tensor) -> None:
        """Begin anew where an episode ended; `dones` [N]. For those that have a memory."""


def make_exploration(kind: str, num_rows: int, action_size: int, std: float) -> Exploration:
    """What a configuration calls `kind`: "gaussian" or "ornstein_uhlenbeck"."""
    if kind == "gaussian":
        return GaussianNoise(std)
    return OrnsteinUhlenbeckNoise(num_rows, action_size, std)


class GaussianNoise(nn.Module):
    """Independent in every step, of deviation `std` in half ranges."""

    has_lasting_noise = False

    def __init__(self, std: float) -> None:
        super().__init__()
        self.std: Tensor
        self.register_buffer("std", torch.tensor(std))

    def forward(self, actions: Tensor, noise: Tensor) -> Tensor:
        return torch.addcmul(actions, self.std, noise).clamp(-1, 1)

    def forget(self, dones: Tensor) -> None:
        """There is nothing to forget."""


class OrnsteinUhlenbeckNoise(nn.Module):
    """Noise that drifts, a state for each environment.

        x <- x - theta * x * dt + std * sqrt(dt) * e

    Its deviation in the long run is about std / sqrt(2 theta). The state [N, A] is moved in place
    by every call. Source: Uhlenbeck and Ornstein 1930, doi:10.1103/PhysRev.36.823; Lillicrap et al.
    2016, arXiv:1509.02971, section 7.
    """

    has_lasting_noise = True

    def __init__(
        self, num_envs: int, action_size: int, std: float, theta: float = 0.15, dt: float = 0.01
    ) -> None:
        super().__init__()
        self._decay, self._scale = 1 - theta * dt, std * math.sqrt(dt)
        self.state: Tensor
        self.register_buffer("state", torch.zeros(num_envs, action_size))

    def forward(self, actions: Tensor, noise: Tensor) -> Tensor:
        self.state.mul_(self._decay).add_(noise, alpha=self._scale)
        return (actions + self.state).clamp(-1, 1)

    def forget(self, dones: Tensor) -> None:
        self.state.masked_fill_(dones.unsqueeze(-1), 0.0)
