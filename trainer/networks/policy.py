"""What every policy can do, whatever its networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class Stateless(Protocol):
    """What `Memoryless` asks of the policies that it makes whole."""

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor | None]: ...

    def greedy(self, obs: Tensor) -> Tensor: ...


class Memoryless:
    """What policies are that see no further than an observation, and explore each anew."""

    state_size = 0
    horizon = 0
    of_rows: Sequence[str] = ()

    @property
    def has_lasting_noise(self) -> bool:
        return False

    def forget(self, dones: Tensor) -> None:
        """There is nothing to forget."""

    def act_step(
        self: Stateless, obs: Tensor, noise: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """As `act`, with a state of nothing."""
        return *self.act(obs, noise), state

    def greedy_step(self: Stateless, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """As `greedy`, with a state of nothing."""
        return self.greedy(obs), state


def first_state(policy: Policy, num_rows: int, device: torch.device | str = "cpu") -> Tensor:
    """What a policy remembers [num_rows, state_size] where episodes begin."""
    return torch.zeros(num_rows, policy.state_size, device=device)


class Policy(Protocol):
    """Observations to actions. Actions are kept as they were drawn, before clipping or squashing;
    `env_actions` is what the environment is given. All weights are views of `flat_parameters` [P].
    """

    flat_parameters: Tensor
    obs_size: int
    # Numbers that it remembers of each row from step to step, 0 for none, and the steps of a
    # rollout that it learns from in one piece, 0 for all of them.
    state_size: int
    horizon: int

    @property
    def of_rows(self) -> Sequence[str]:
        """What of its state has a part for each row that it acts for, by name."""

    @property
    def action_shape(self) -> tuple[int, ...]: ...

    @property
    def action_dtype(self) -> torch.dtype: ...

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for `act` on observations of this leading shape."""

    def act_step(
        self, obs: Tensor, noise: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Actions [B, *action_shape] for obs [B, obs_size], explored as the algorithm wants, their
        log-probabilities [B] where it learns from those, and the next state. `state` [B,
        state_size] is that before this step: zeros where an episode begins.
        """

    def greedy_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The actions of evaluation likewise, as the environment takes them, and the next state."""

    @property
    def has_lasting_noise(self) -> bool:
        """Whether `act` explores with noise of the steps before, and wants `forget` after each."""

    def forget(self, dones: Tensor) -> None:
        """Begin to explore anew in the rows where an episode ended; `dones` [N]."""

    def env_actions(self, actions: Tensor) -> Tensor:
        """`actions` as the environment takes them, within its bounds."""

    def observe(self, obs: Tensor) -> None:
        """Take obs [..., obs_size] into the running statistics, where there are any."""

    def to_device(self, device: torch.device) -> None:
        """Move everything there."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> Any: ...
