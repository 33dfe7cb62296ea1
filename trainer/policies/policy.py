"""The interface of policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ..machine.values import State
from ..spaces import Spaces
from .network import Network


class Stateless(Protocol):
    """The methods that a `Memoryless` policy must have."""

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor | None]: ...

    def greedy(self, obs: Tensor) -> Tensor: ...


class Memoryless:
    """The state methods of policies without memory."""

    state_size = 0
    horizon = 0
    of_rows: Sequence[str] = ()

    def act_step(
        self: Stateless, obs: Tensor, noise: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Like `act`, with an empty state."""
        return *self.act(obs, noise), state

    def greedy_step(self: Stateless, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Like `greedy`, with an empty state."""
        return self.greedy(obs), state


class NetworkPolicy(Memoryless, nn.Module):
    """The weights of policies that have one network, side by side."""

    network: Network

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        return self.network.parameters_to_learn()

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.network.flatten()
        self.flat_parameters = self.network.flat_parameters


def stored_obs(spec: Spaces) -> dict[str, Any]:
    """How a replay stores observations: arguments of it."""
    dtype = torch.uint8 if spec.obs_type is np.uint8 else torch.float32
    return {"obs_dtype": dtype, "stack": spec.obs_stack, "mask_size": spec.mask_size}


def first_state(policy: Policy, num_rows: int, device: torch.device | str = "cpu") -> Tensor:
    """The initial recurrent state, [num_rows, state_size]."""
    return torch.zeros(num_rows, policy.state_size, device=device)


class Policy(Protocol):
    """Maps observations to actions. Actions are stored as drawn, before clipping or squashing;
    `env_actions` converts them for the environment. All weights are views of `flat_parameters` [P].
    """

    flat_parameters: Tensor
    obs_size: int
    normalizer: Any  # of observations
    # The size of the recurrent state of a row, 0 without memory; and the number of steps that are
    # learned from as one sequence, 0 for the whole rollout.
    state_size: int
    horizon: int

    @property
    def of_rows(self) -> Sequence[str]:
        """The names of the parts of its state that have one entry for each row."""

    @property
    def action_shape(self) -> tuple[int, ...]: ...

    @property
    def action_dtype(self) -> torch.dtype: ...

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """The parameters, in the order of `flat_parameters`."""

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Random numbers for `act` on observations of this leading shape."""

    def act_step(
        self, obs: Tensor, noise: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Actions drawn for obs [B, obs_size], their log-probabilities if the algorithm needs them,
        and the next state [B, state_size].
        """

    def greedy_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The greedy actions for the environment, and the next state [B, state_size]."""

    def env_actions(self, actions: Tensor) -> Tensor:
        """Stored `actions` converted to the environment's actions, within its bounds."""

    def to_device(self, device: torch.device) -> None:
        """Move all tensors to `device`."""

    def state_dict(self) -> State: ...

    def load_state_dict(self, state: State) -> Any: ...


ILLEGAL = -1e8  # sb3-contrib's MaskablePPO has the same


def masked(outputs: Tensor, obs: Tensor, mask_size: int) -> Tensor:
    """`outputs` [..., choices] with `ILLEGAL` where the mask of `obs` [..., obs_size] has 0: such a
    choice has probability 0, and its value is no maximum. The mask is the last columns of `obs`.

    Source: Huang and Ontanon 2020, arXiv:2006.14171.
    """
    if not mask_size:
        return outputs
    return outputs.masked_fill(obs[..., -mask_size:] == 0, ILLEGAL)


def with_mask(features: Tensor, obs: Tensor, mask_size: int) -> Tensor:
    """Features [..., size] followed by the mask of `obs`: [..., size + mask_size]."""
    return torch.cat([features, obs[..., -mask_size:]], -1) if mask_size else features


def any_legal(obs: Tensor, uniform: Tensor, mask_size: int) -> Tensor:
    """Legal choices [...], all equally probable, by numbers `uniform` [...] in [0, 1)."""
    is_legal = obs[..., -mask_size:] != 0
    count = is_legal.sum(-1)
    number = torch.minimum((uniform * count).long(), count - 1)
    is_chosen = is_legal & (is_legal.cumsum(-1) - 1 == number.unsqueeze(-1))
    return is_chosen.long().argmax(-1)
