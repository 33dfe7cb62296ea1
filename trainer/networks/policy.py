"""What every policy can do, whatever its networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class Memoryless:
    """What policies are for whom every step is the first."""

    has_memory = False

    def forget(self, dones: Tensor) -> None:
        """There is nothing to forget."""


class Policy(Protocol):
    """Observations to actions. Actions are kept as they were drawn, before clipping or squashing;
    `env_actions` is what the environment is given. All weights are views of `flat_parameters` [P].
    """

    flat_parameters: Tensor
    obs_size: int

    @property
    def action_shape(self) -> tuple[int, ...]: ...

    @property
    def action_dtype(self) -> torch.dtype: ...

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for `act` on observations of this leading shape."""

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor | None]:
        """Actions [B, *action_shape] for obs [B, obs_size], explored as the algorithm wants, and
        their log-probabilities [B] where it learns from those.
        """

    def greedy(self, obs: Tensor) -> Tensor:
        """The actions of evaluation for obs [B, obs_size], as the environment takes them."""

    @property
    def has_memory(self) -> bool:
        """Whether `act` depends on the steps before, and wants `forget` after each."""

    def forget(self, dones: Tensor) -> None:
        """Begin anew in the rows where an episode ended; `dones` [N]."""

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` as the environment takes them, within its bounds."""

    def observe(self, obs: Tensor) -> None:
        """Take obs [..., obs_size] into the running statistics, where there are any."""

    def to_device(self, device: torch.device) -> None:
        """Move everything there."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> Any: ...
